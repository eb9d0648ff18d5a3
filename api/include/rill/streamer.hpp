// Chunks of any length through a model that streams.
#pragma once

#include "rill/rill.hpp"

namespace rill {
inline namespace abi1 {

/// Feeds chunks of any length through a plan that has one input, which streams, and hands on the
/// frames that come out, their delay dropped.
///
/// `emit(size_t output, TensorView<const T> frames)` is called for every output that streams; the
/// view is good until `emit` returns. Real-time: yes, if `emit` is.
template <class T = float>
class Streamer {
 public:
  static Result<Streamer> make(const Plan& plan) {
    auto session = Session::make(plan);
    if (!session) return session.error();
    Streamer out(std::move(session).value());
    const auto stream = plan.stream(0);
    if (!stream) return stream.error();
    out.in_ = out.session_.template input<T>(0);
    out.axis_ = stream.value().input_axis;
    if (rill_plan_count(plan.get(), RILL_INPUT) != 1 || !out.in_ || out.axis_ < 0) {
      return refusal("a streamer needs one input, of its element type, that streams");
    }
    out.outputs_ = rill_plan_count(plan.get(), RILL_OUTPUT);
    for (size_t i = 0; i < out.outputs_; ++i) {
      if (!out.session_.template output<T>(i)) {
        return refusal("a streamer needs outputs of its element type");
      }
    }
    for (int axis = 0; axis < out.axis_; ++axis) out.outer_ *= out.in_.extent(axis);
    out.inner_ = out.in_.stride(out.axis_);
    out.pulse_ = out.in_.extent(out.axis_);
    return out;
  }

  Session& session() { return session_; }
  /// Frames that wait for their pulse to be full.
  int64_t pending() const { return filled_; }

  /// Take frames: row-major, like the input but for the extent of its streaming axis.
  template <class Emit>
  Status push(const T* chunk, int64_t frames, Emit&& emit) {
    return take(chunk, frames, false, emit);
  }
  /// Take the last frames, and bring out all that is left.
  template <class Emit>
  Status push_last(const T* chunk, int64_t frames, Emit&& emit) {
    return take(chunk, frames, true, emit);
  }
  /// Say that the last frames have been pushed, and bring out all that is left. Exact, unless the
  /// outputs of the model end before its inputs: then only `push_last` is.
  template <class Emit>
  Status finish(Emit&& emit) {
    return take(nullptr, 0, true, emit);
  }
  Status reset() {
    filled_ = 0;
    return session_.reset();
  }

 private:
  explicit Streamer(Session session) : session_(std::move(session)) {}
  static Error refusal(const char* why) {
    Error error;
    error.code = RILL_E_ARG;
    error.text = error.message = why;
    return error;
  }

  void copy_in(const T* chunk, int64_t frames, int64_t from, int64_t count) {
    for (int64_t outer = 0; outer < outer_; ++outer) {
      const T* source = chunk + (outer * frames + from) * inner_;
      T* target = in_.data() + (outer * pulse_ + filled_) * inner_;
      for (int64_t i = 0; i < count * inner_; ++i) target[i] = source[i];
    }
    filled_ += count;
  }

  template <class Emit>
  void hand_on(Emit& emit) {
    for (size_t i = 0; i < outputs_; ++i) {
      const TensorView<const T> frames = session_.template valid<T>(i);
      if (frames) emit(i, frames);
    }
  }

  template <class Emit>
  Status take(const T* chunk, int64_t frames, bool last, Emit& emit) {
    int64_t from = 0;
    while (from < frames) {
      const int64_t room = pulse_ - filled_;
      const int64_t count = frames - from < room ? frames - from : room;
      copy_in(chunk, frames, from, count);
      from += count;
      if (filled_ < pulse_ || (last && from == frames)) continue;
      Status ran = session_.step();
      if (!ran) return ran;
      filled_ = 0;
      hand_on(emit);
    }
    if (!last) return {};
    Status ran = session_.step_last(filled_);
    if (!ran) return ran;
    filled_ = 0;
    hand_on(emit);
    for (int64_t left = 1; left > 0;) {
      auto flushed = session_.flush();
      if (!flushed) return flushed.error();
      left = flushed.value();
      hand_on(emit);
    }
    return {};
  }

  Session session_;
  TensorView<T> in_;
  int axis_ = 0;
  size_t outputs_ = 0;
  int64_t pulse_ = 0;
  int64_t outer_ = 1;
  int64_t inner_ = 1;
  int64_t filled_ = 0;
};

}  // namespace abi1
}  // namespace rill
