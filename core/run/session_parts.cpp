#include "core/run/session_parts.h"

#include <new>

namespace rill {
namespace {

constexpr int64_t kAlign = 64;
constexpr size_t kSingle = 4;  ///< number of parts before those of inputs

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Call `add` for each part of a session, with its size.
template <class Add>
void for_each_part(const Plan& plan, const Add& add) {
  const auto add_single = [&](PartUse use, int64_t bytes) { add(use, 0, bytes, aligned(bytes)); };
  add_single(PartUse::kArena, plan.arena_bytes);
  add_single(PartUse::kState, plan.state_bytes);
  add_single(PartUse::kPlaces,
             static_cast<int64_t>(plan.rings.size()) * static_cast<int64_t>(sizeof(int64_t)));
  add_single(PartUse::kAddresses,
             static_cast<int64_t>(plan.buffers.size()) * static_cast<int64_t>(sizeof(std::byte*)));
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    add(PartUse::kInput, i, plan.inputs[i].bytes, aligned(plan.inputs[i].bytes) + kAlign);
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    add(PartUse::kOutput, i, plan.outputs[i].bytes, aligned(plan.outputs[i].bytes) + kAlign);
  }
}

size_t count_of(const Plan& plan) { return kSingle + plan.inputs.size() + plan.outputs.size(); }

int64_t list_bytes(const Plan& plan) {
  return aligned(static_cast<int64_t>(count_of(plan) * sizeof(SessionPart)));
}

}  // namespace

int64_t SessionParts::bytes_for(const Plan& plan) {
  int64_t bytes = list_bytes(plan) + kAlign;
  for_each_part(plan, [&](PartUse, size_t, int64_t, int64_t room) { bytes += room; });
  return bytes;
}

void SessionParts::lay_out(const Plan& plan, std::byte* block) {
  auto* const first = reinterpret_cast<SessionPart*>(block);
  size_t count = 0;
  bytes = list_bytes(plan);
  for_each_part(plan, [&](PartUse use, size_t index, int64_t own, int64_t room) {
    new (first + count++) SessionPart{use, index, bytes, own};
    bytes += room;
  });
  all = {first, count};
  inputs = plan.inputs.size();
  bytes += kAlign;
}

const SessionPart& SessionParts::of(PartUse use, size_t index) const {
  if (use == PartUse::kInput) return all[kSingle + index];
  if (use == PartUse::kOutput) return all[kSingle + inputs + index];
  size_t at = 0;
  while (all[at].use != use) ++at;
  return all[at];
}

}  // namespace rill
