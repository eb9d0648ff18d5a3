/// @file
/// Feeds chunks of any length to a streaming model.
#pragma once

#include "rill/pulses.hpp"

namespace rill {
inline namespace abi1 {

/// Feeds chunks of any length to a plan with one input, which streams. Emits the frames of its
/// outputs, without the first `delay` ones.
///
/// It calls `emit(size_t output, TensorView<const T> frames)` for every streaming output; the view
/// is valid until `emit` returns. Real-time: yes if `emit` is.
template <class T = float>
class Streamer {
 public:
  /// Make a streamer with its session. Errors: RILL_E_ARG for a plan with other inputs.
  static Result<Streamer> make(const Plan& plan) {
    auto pulses = detail::Pulses<T>::make(plan);
    if (!pulses) return pulses.error();
    return Streamer(std::move(pulses).value());
  }

  /// Return the session that it steps.
  Session& session() { return pulses_.session(); }
  /// Return the number of frames in the pulse that is not full yet.
  int64_t pending() const { return pulses_.filled(); }

  /// Push frames: row-major, with the input's shape except along its streaming axis.
  template <class Emit>
  Status push(const T* chunk, int64_t frames, Emit&& emit) {
    return Status::of(take(chunk, frames, false, emit));
  }
  /// Push the last frames, and emit all remaining ones.
  template <class Emit>
  Status push_last(const T* chunk, int64_t frames, Emit&& emit) {
    return Status::of(take(chunk, frames, true, emit));
  }
  /// End the stream, and emit all remaining frames.
  /// Errors: RILL_E_STATE if the last pulse was full and its step had to know the end (see
  /// rill_step_partial): end such streams by `push_last`.
  template <class Emit>
  Status finish(Emit&& emit) {
    return Status::of(take(nullptr, 0, true, emit));
  }
  /// Return to the state of a new streamer.
  Status reset() { return Status::of(pulses_.reset()); }

 private:
  explicit Streamer(detail::Pulses<T> pulses) : pulses_(std::move(pulses)) {}

  void copy_in(const T* chunk, int64_t frames, int64_t from, int64_t count) {
    const int64_t inner = pulses_.inner();
    for (int64_t outer = 0; outer < pulses_.outer(); ++outer) {
      const T* source = chunk + (outer * frames + from) * inner;
      int64_t step = 0;
      T* target = pulses_.next(outer * inner, &step);
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
