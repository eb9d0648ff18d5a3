#include "core/exec/session_parts.h"

namespace rill {
namespace {

constexpr int64_t kAlign = 64;
constexpr size_t kSingle = 4;  ///< parts before those of inputs

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

SessionParts parts_of(const Plan& plan) {
  SessionParts parts;
  const auto add = [&](PartUse use, size_t index, int64_t bytes, int64_t room) {
    parts.all.push_back({use, index, parts.bytes, bytes});
    parts.bytes += room;
  };
  const auto add_single = [&](PartUse use, int64_t bytes) { add(use, 0, bytes, aligned(bytes)); };
  parts.all.reserve(kSingle + plan.inputs.size() + plan.outputs.size());
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
  parts.bytes += kAlign;
  return parts;
}

const SessionPart& SessionParts::of(PartUse use, size_t index) const {
  size_t at = 0;
  while (all[at].use != use || all[at].index != index) ++at;
  return all[at];
}

}  // namespace rill
