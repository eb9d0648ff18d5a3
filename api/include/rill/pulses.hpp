// The pulses of one stream, filled frame by frame; Streamer and audio.hpp use them.
#pragma once

#include "rill/saved_sound.hpp"

namespace rill {
inline namespace abi1 {
namespace detail {

inline Error refusal(rill_status code, std::string why, std::string hint = "") {
  Error error;
  error.code = code;
  error.message = error.text = std::move(why);
  if (!hint.empty()) error.text += "; " + hint;
  error.hint = std::move(hint);
  return error;
}

/// Fills the only input of a plan, which streams, and emits the frames that its steps make valid.
/// `emit(size_t output, TensorView<const T> frames)` gets a view that is valid until it returns.
/// A lane is an index of the input without its streaming axis: a channel, or a feature.
/// Real-time: yes if `emit` is, except `make`.
template <class T>
class Pulses {
 public:
  /// Errors: RILL_E_ARG for plans of other inputs, or of other element types.
  static Result<Pulses> make(const Plan& plan) {
    auto session = Session::make(plan);
    if (!session) return session.error();
    Pulses out(std::move(session).value());
    const auto stream = plan.stream(0);
    if (!stream) return stream.error();
    out.in_ = out.session_.template input<T>(0);
    const int axis = stream.value().input_axis;
    if (rill_plan_count(plan.get(), RILL_INPUT) != 1 || !out.in_ || axis < 0) {
      return refusal(RILL_E_ARG, "a streamer needs one input, of its element type, that streams");
    }
    const size_t outputs = rill_plan_count(plan.get(), RILL_OUTPUT);
    for (size_t i = 0; i < outputs; ++i) {
      const auto info = plan.stream(i);
      if (!info) return info.error();
      if (!out.session_.template output<T>(i)) {
        return refusal(RILL_E_ARG, "a streamer needs outputs of its element type");
      }
      out.axes_.push_back(info.value().axis);
    }
    for (int i = 0; i < axis; ++i) out.outer_ *= out.in_.extent(i);
    out.inner_ = out.in_.stride(axis);
    out.pulse_ = out.in_.extent(axis);
    out.place_ = out.in_.data();
    return out;
  }

  Session& session() { return session_; }
  int64_t outer() const { return outer_; }
  int64_t inner() const { return inner_; }
  int64_t lanes() const { return outer_ * inner_; }
  int64_t pulse() const { return pulse_; }
  /// Return the number of frames in the pulse that is not full yet.
  int64_t filled() const { return filled_; }
  int64_t room() const { return pulse_ - filled_; }
  /// Return the place of the next frame of a lane; the following one is `inner()` elements later.
  T* next(int64_t lane) const {
    return place_ + (lane / inner_ * pulse_ + filled_) * inner_ + lane % inner_;
  }
  /// Add frames that were written to all lanes, at most `room()`.
  void add(int64_t frames) { filled_ += frames; }

  /// Fill the next pulse elsewhere, from its first frame on.
  void fill_at(T* place) {
    place_ = place;
    filled_ = 0;
  }
  /// Run a pulse that was filled elsewhere, and copy output 0, of whose frames `count` from `first`
  /// on are valid.
  rill_status step_copied(const T* pulse, T* output, int64_t* first, int64_t* count) {
    std::memcpy(in_.data(), pulse, static_cast<size_t>(pulse_ * lanes()) * sizeof(T));
    rill_status status = rill_step(session_.get());
    if (status == RILL_OK) status = rill_valid_frames(session_.get(), 0, first, count);
    if (status != RILL_OK) return status;
    const auto from = session_.template output<T>(0);
    std::memcpy(output, from.data(), static_cast<size_t>(from.size()) * sizeof(T));
    return RILL_OK;
  }
  /// Run a full pulse.
  template <class Emit>
  rill_status step(Emit& emit) {
    const rill_status ran = rill_step(session_.get());
    if (ran != RILL_OK) return ran;
    filled_ = 0;
    hand_on(emit);
    return RILL_OK;
  }
  /// Run the remaining frames as the end of the stream, and emit the tail.
  template <class Emit>
  rill_status last(Emit& emit) {
    const rill_status ran = rill_step_partial(session_.get(), filled_);
    if (ran != RILL_OK) return ran;
    filled_ = 0;
    hand_on(emit);
    for (int64_t left = 1; left > 0;) {
      const rill_status flushed = rill_flush(session_.get(), &left);
      if (flushed != RILL_OK) return flushed;
      hand_on(emit);
    }
    return RILL_OK;
  }
  rill_status reset() {
    filled_ = 0;
    return rill_session_reset(session_.get());
  }
  /// Save or load the stream, between steps.
  void state(SavedSound& saved) {
    static_assert(std::is_same_v<T, float>);
    saved.same(pulse_);
    saved.same(lanes());
    saved.number(filled_, 0, pulse_ - 1);
    saved.floats(place_, pulse_ * lanes());
    saved.session(session_.get());
  }

 private:
  explicit Pulses(Session session) : session_(std::move(session)) {}

  template <class Emit>
  void hand_on(Emit& emit) {
    for (size_t i = 0; i < axes_.size(); ++i) {
      int64_t first = 0;
      int64_t count = 0;
      rill_view view = {};
      view.size = sizeof(view);
      if (axes_[i] < 0 || rill_valid_frames(session_.get(), i, &first, &count) != RILL_OK ||
          count == 0 || rill_output_buffer(session_.get(), i, &view) != RILL_OK) {
        continue;
      }
      emit(i, TensorView<const T>(view).part(axes_[i], first, count));
    }
  }

  Session session_;
  TensorView<T> in_;
  T* place_ = nullptr;     // of the pulse that is filled
  std::vector<int> axes_;  // of the outputs; -1: it does not stream
  int64_t pulse_ = 0;
  int64_t outer_ = 1;
  int64_t inner_ = 1;
  int64_t filled_ = 0;
};

}  // namespace detail
}  // namespace abi1
}  // namespace rill
