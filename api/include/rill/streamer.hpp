// Feeds chunks of any length to a model that streams.
#pragma once

#include "rill/pulses.hpp"

namespace rill {
inline namespace abi1 {

/// Feeds chunks of any length to a plan that has one input, which streams, and hands on the frames
/// that come out, without the `delay` frames in front.
///
/// `emit(size_t output, TensorView<const T> frames)` is called for every output that streams; the
/// view is good until `emit` returns. Real-time: yes, if `emit` is.
template <class T = float>
class Streamer {
 public:
  static Result<Streamer> make(const Plan& plan) {
    auto pulses = detail::Pulses<T>::make(plan);
    if (!pulses) return pulses.error();
    return Streamer(std::move(pulses).value());
  }

  Session& session() { return pulses_.session(); }
  /// Frames that wait for their pulse to be full.
  int64_t pending() const { return pulses_.filled(); }

  /// Take frames: row-major, like the input but for the extent of its streaming axis.
  template <class Emit>
  Status push(const T* chunk, int64_t frames, Emit&& emit) {
    return Status::of(take(chunk, frames, false, emit));
  }
  /// Take the last frames, and bring out all that is left.
  template <class Emit>
  Status push_last(const T* chunk, int64_t frames, Emit&& emit) {
    return Status::of(take(chunk, frames, true, emit));
  }
  /// Say that the last frames have been pushed, and bring out all that is left.
  /// Errors: RILL_E_STATE where the last pulse was full, and its step had to know the end, as
  /// rill_step_partial says: end such streams by `push_last`.
  template <class Emit>
  Status finish(Emit&& emit) {
    return Status::of(take(nullptr, 0, true, emit));
  }
  Status reset() { return Status::of(pulses_.reset()); }

 private:
  explicit Streamer(detail::Pulses<T> pulses) : pulses_(std::move(pulses)) {}

  void copy_in(const T* chunk, int64_t frames, int64_t from, int64_t count) {
    const int64_t inner = pulses_.inner();
    for (int64_t outer = 0; outer < pulses_.outer(); ++outer) {
      const T* source = chunk + (outer * frames + from) * inner;
      T* target = pulses_.next(outer * inner);
      for (int64_t i = 0; i < count * inner; ++i) target[i] = source[i];
    }
    pulses_.add(count);
  }

  template <class Emit>
  rill_status take(const T* chunk, int64_t frames, bool last, Emit& emit) {
    int64_t from = 0;
    while (from < frames) {
      const int64_t count = frames - from < pulses_.room() ? frames - from : pulses_.room();
      copy_in(chunk, frames, from, count);
      from += count;
      if (pulses_.room() > 0 || (last && from == frames)) continue;
      const rill_status ran = pulses_.step(emit);
      if (ran != RILL_OK) return ran;
    }
    return last ? pulses_.last(emit) : RILL_OK;
  }

  detail::Pulses<T> pulses_;
};

}  // namespace abi1
}  // namespace rill
