// Pulses that another thread steps, one pulse later; audio.hpp uses it.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "rill/pulses.hpp"

namespace rill {
inline namespace abi1 {
namespace detail {

/// Passes full pulses of one stream from an audio callback to the thread that calls `work`, and the
/// frames of output 0 back. The frames of a pulse are due when the next pulse is full, so that
/// their time does not depend on the threads. Zeros replace frames that are late.
/// Thread: one calls `fill`, one calls `work`. Real-time: yes, except the constructor: no locks and
/// no system calls.
class Handoff {
 public:
  /// The number of pulses that the queue holds. The thread may lag by one pulse less before a pulse
  /// is lost.
  static constexpr int64_t kSlots = 8;

  /// `out` is the view of output 0, and `stream` how it streams.
  Handoff(const Pulses<float>& pulses, const rill_stream_info& stream,
          const TensorView<const float>& out)
      : axis_(stream.axis),
        pulse_(stream.pulse),
        delay_(stream.delay),
        zeros_(static_cast<size_t>(out.size())),
        silence_(like(out, zeros_)),
        counts_(std::make_unique<Counts>()) {
    for (Slot& slot : slots_) {
      slot.in.resize(static_cast<size_t>(pulses.pulse() * pulses.lanes()));
      slot.out.resize(zeros_.size());
      slot.view = like(out, slot.out);
    }
  }

  /// Return the place of the pulse that is being filled.
  float* place() { return slot(filled()).in.data(); }
  /// Return the number of pulses whose frames were replaced by zeros.
  int64_t late() const { return counts_->late.load(std::memory_order_relaxed); }

  /// Pass on a full pulse, and emit the frames of the one before.
  /// Errors: those of rill_step.
  template <class Emit>
  rill_status fill(Emit& emit) {
    rill_status status = RILL_OK;
    if (fulls_ > 0) status = hand_back(emit);
    ++fulls_;
    const int64_t next = filled() + 1;
    // Without a free slot, the pulse is lost, and its slot is filled again.
    handed_ = next - counts_->done.load(std::memory_order_acquire) < kSlots;
    if (handed_) counts_->filled.store(next, std::memory_order_release);
    return status;
  }

  /// Step a pulse that waits. Returns whether there was one.
  bool work(Pulses<float>& pulses) {
    const int64_t done = counts_->done.load(std::memory_order_relaxed);
    if (done == counts_->filled.load(std::memory_order_acquire)) return false;
    Slot& at = slot(done);
    at.status = pulses.step_copied(at.in.data(), at.out.data(), &at.first, &at.count);
    counts_->done.store(done + 1, std::memory_order_release);
    return true;
  }

  void reset() {
    counts_->filled.store(0, std::memory_order_relaxed);
    counts_->done.store(0, std::memory_order_relaxed);
    counts_->late.store(0, std::memory_order_relaxed);
    fulls_ = 0;
    handed_ = false;
  }
  /// Save or load the frames that wait to be emitted, while no pulse waits to be stepped.
  void state(SavedSound& saved) {
    int64_t handed = handed_ ? 1 : 0;
    Slot& last = slot(filled() + kSlots - 1);
    saved.number(fulls_, 0, INT64_MAX / 2);
    saved.number(handed, 0, 1);
    handed_ = handed == 1;
    saved.number(last.first, 0, silence_.extent(axis_));
    saved.number(last.count, 0, silence_.extent(axis_) - last.first);
    saved.floats(last.out.data(), static_cast<int64_t>(last.out.size()));
  }

 private:
  struct Slot {
    std::vector<float> in;
    std::vector<float> out;
    TensorView<const float> view;  // of `out`
    int64_t first = 0;             // of `count` frames of `out` that are valid
    int64_t count = 0;
    rill_status status = RILL_OK;
  };
  // Padded, so that the threads write to different cache lines.
  struct Counts {
    alignas(64) std::atomic<int64_t> filled{0};
    alignas(64) std::atomic<int64_t> done{0};
    alignas(64) std::atomic<int64_t> late{0};
  };

  Slot& slot(int64_t index) { return slots_[static_cast<size_t>(index % kSlots)]; }
  int64_t filled() const { return counts_->filled.load(std::memory_order_relaxed); }
  /// Return the number of frames that are valid after `steps` steps.
  int64_t heard(int64_t steps) const {
    return steps * pulse_ > delay_ ? steps * pulse_ - delay_ : 0;
  }

  /// Return a view of other memory with the same layout.
  static TensorView<const float> like(const TensorView<const float>& view,
                                      std::vector<float>& memory) {
    int64_t shape[RILL_MAX_RANK] = {};
    int64_t strides[RILL_MAX_RANK] = {};
    for (int axis = 0; axis < view.rank(); ++axis) {
      shape[axis] = view.extent(axis);
      strides[axis] = view.stride(axis);
    }
    rill_view out = {};
    out.size = sizeof(out);
    out.dtype = RILL_F32;
    out.rank = static_cast<uint32_t>(view.rank());
    out.shape = shape;
    out.strides = strides;
    out.data = memory.data();
    return TensorView<const float>(out);
  }

  /// Emit the frames of the last pulse: as many as without threads, with zeros first if some are
  /// missing.
  template <class Emit>
  rill_status hand_back(Emit& emit) {
    const int64_t due = heard(fulls_) - heard(fulls_ - 1);
    const Slot& last = slot(filled() + kSlots - 1);
    const bool done = handed_ && counts_->done.load(std::memory_order_acquire) == filled();
    if (!done) counts_->late.store(late() + 1, std::memory_order_relaxed);
    if (done && last.status != RILL_OK) return last.status;
    const int64_t count = done ? last.count : 0;
    if (count < due) emit(0, silence_.part(axis_, 0, due - count));
    if (count > 0) emit(0, last.view.part(axis_, last.first, count));
    return RILL_OK;
  }

  int axis_;
  int64_t pulse_;  // of the output
  int64_t delay_;
  std::vector<float> zeros_;
  TensorView<const float> silence_;  // of `zeros_`
  std::array<Slot, kSlots> slots_;
  std::unique_ptr<Counts> counts_;
  int64_t fulls_ = 0;    // pulses that were full, lost ones too
  bool handed_ = false;  // whether the last one was handed on
};

}  // namespace detail
}  // namespace abi1
}  // namespace rill
