#include "core/exec/constant_steps.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/run/denormals.h"

namespace rill {
namespace {

/// The maximum size of one result, and of all results together: a file could request larger ones
/// without containing data.
constexpr int64_t kMostBytes = int64_t{1} << 24;
constexpr int64_t kMostBytesOfAll = int64_t{1} << 26;

/// Finds the steps and buffers of a plan whose results are the same in every run.
class Constants {
 public:
  Constants(const Graph& graph, std::span<const StepUse> uses, const Plan& plan)
      : plan_(plan), uses_(uses), last_writer_(plan.buffers.size(), -1) {
    for (size_t i = 0; i < uses.size(); ++i) {
      const int node = plan.steps[i].node;
      steps_.push_back(node >= 0 && graph.node(node).op->repeatable());
      for (const uint32_t buffer : uses[i].writes) last_writer_[buffer] = static_cast<int>(i);
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan.buffers[b];
      const bool known = buffer.bytes == 0 || last_writer_[b] >= 0;
      const bool arena = buffer.kind == BufferKind::kArena;
      // A slot has no memory; the loop sets its address.
      const bool fixed = buffer.kind == BufferKind::kConst || buffer.kind == BufferKind::kSlot;
      buffers_.push_back(fixed || (arena && known && buffer.bytes <= kMostBytes));
    }
    retract_disproved();
  }

  bool step(size_t i) const { return steps_[i]; }
  /// Return the bytes that constant steps write; -1 if there are no such steps.
  int64_t bytes() const {
    if (!contains(steps_, true)) return -1;
    int64_t sum = 0;
    for (size_t b = 0; b < buffers_.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffers_[b] && last_writer_[b] >= 0) sum += buffer.bytes;
    }
    return sum;
  }
  /// Return, for each buffer, the last constant step that reads it; the number of steps if other
  /// steps read it.
  std::vector<size_t> last_readers() const {
    std::vector<size_t> last(plan_.buffers.size(), 0);
    for (size_t i = 0; i < uses_.size(); ++i) {
      const size_t reader = steps_[i] ? i : uses_.size();
      for (const auto* list : {&uses_[i].reads, &uses_[i].writes}) {
        for (const uint32_t buffer : *list) last[buffer] = std::max(last[buffer], reader);
      }
    }
    return last;
  }

 private:
  /// Assume that everything is constant, and retract this where it is disproved. A step is constant
  /// if all buffers that it touches are constant. A buffer is constant if all steps that write it
  /// are constant, and no step reads it before. Each assumption is retracted at most once.
  void retract_disproved() {
    // By buffer: the steps that touch it.
    std::vector<std::vector<size_t>> users(plan_.buffers.size());
    for (size_t i = 0; i < uses_.size(); ++i) {
      for (const auto* list : {&uses_[i].reads, &uses_[i].writes}) {
        for (const uint32_t buffer : *list) users[buffer].push_back(i);
      }
    }
    std::vector<size_t> open;  // steps that are not constant
    const auto drop_step = [&](size_t i) {
      if (steps_[i]) open.push_back(i);
      steps_[i] = false;
    };
    const auto drop_buffer = [&](uint32_t buffer) {
      if (!buffers_[buffer]) return;
      buffers_[buffer] = false;
      for (const size_t user : users[buffer]) drop_step(user);
    };
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b]) continue;
      for (const size_t user : users[b]) steps_[user] = false;
    }
    for (size_t i = 0; i < uses_.size(); ++i) {
      if (!steps_[i]) open.push_back(i);
    }
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      for (const uint32_t buffer : uses_[i].writes) drop_buffer(buffer);
      // The step reads the buffer before a later step writes it.
      for (const uint32_t buffer : uses_[i].reads) {
        if (last_writer_[buffer] > static_cast<int>(i)) drop_buffer(buffer);
      }
    }
  }

  const Plan& plan_;
  std::span<const StepUse> uses_;
  std::vector<int> last_writer_;
  std::vector<bool> buffers_;
  std::vector<bool> steps_;
};

/// Allocate memory for an output of constant steps, in the form of a plan constant.
Status give_memory(PlanBuffer* buffer, std::byte** base) {
  if (buffer->bytes == 0) return {};
  RILL_ASSIGN(Tensor zeros, Tensor::zeros(DType::kU8, {buffer->bytes}));
  auto owner = std::make_shared<Tensor>(std::move(zeros));
  *base = static_cast<std::byte*>(owner->mutable_raw());
  buffer->data = std::shared_ptr<const void>(owner, *base);
  return {};
}

}  // namespace

Status run_constant_steps(const Graph& graph, std::vector<StepUse>* all, Plan* plan) {
  std::vector<StepUse>& uses = *all;
  const Constants constants(graph, uses, *plan);
  if (constants.bytes() < 0 || constants.bytes() > kMostBytesOfAll) return {};
  const std::vector<size_t> last = constants.last_readers();
  // Empty buffers need an address too: steps compute pointers from it without reading.
  alignas(64) std::byte nothing[64] = {};
  std::vector<std::byte*> base;
  for (const PlanBuffer& buffer : plan->buffers) {
    auto* data = static_cast<std::byte*>(const_cast<void*>(buffer.data.get()));
    base.push_back(data != nullptr ? data : nothing);
  }
  const StreamClock clock;
  Frame frame;
  frame.base = base.data();
  frame.clock = &clock;

  const FlushDenormals flush;
  std::vector<Step> left;
  std::vector<StepUse> left_uses;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (!constants.step(i)) {
      left.push_back(plan->steps[i]);
      left_uses.push_back(std::move(uses[i]));
      continue;
    }
    for (const uint32_t written : uses[i].writes) {
      PlanBuffer& buffer = plan->buffers[written];
      if (!buffer.data) RILL_TRY(give_memory(&buffer, &base[written]));
    }
    run_step(plan->steps[i], frame);
    for (const auto* list : {&uses[i].reads, &uses[i].writes}) {
      for (const uint32_t id : *list) {
        PlanBuffer& buffer = plan->buffers[id];
        if (buffer.kind == BufferKind::kArena && last[id] == i) buffer = {};
      }
    }
  }
  for (PlanBuffer& buffer : plan->buffers) {
    if (buffer.kind != BufferKind::kArena || !buffer.data) continue;
    buffer.kind = BufferKind::kConst;
    plan->const_bytes += buffer.bytes;
  }
  plan->steps = std::move(left);
  uses = std::move(left_uses);
  return {};
}

}  // namespace rill
