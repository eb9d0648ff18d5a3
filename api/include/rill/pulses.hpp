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

/// Fills the inputs of a plan, which stream together, and emits the frames that its steps make
/// valid. `emit(size_t output, TensorView<const T> frames)` gets a view that is valid until it
/// returns. A lane is one position on the other axes of an input: a channel, or a feature. The
/// lanes of the second input follow those of the first one.
/// Real-time: yes if `emit` is, except `make`.
template <class T>
class Pulses {
 public:
  /// Make a session of a plan. Errors: RILL_E_ARG for plans of another number of inputs, or of
  /// other element types, and for inputs whose pulses differ in frames.
  static Result<Pulses> make(const Plan& plan, size_t inputs = 1) {
    auto session = Session::make(plan);
    if (!session) return session.error();
    Pulses out(std::move(session).value());
    const size_t found = rill_plan_count(plan.get(), RILL_INPUT);
    if (found != inputs) {
      return refusal(RILL_E_ARG, "a stream of " + std::to_string(inputs) + " input" +
                                     (inputs == 1 ? "" : "s") + " cannot run a model with " +
                                     std::to_string(found));
    }
    for (size_t i = 0; i < inputs; ++i) {
      rill_io_info io = {};
      io.size = sizeof(io);
      if (rill_plan_io(plan.get(), RILL_INPUT, i, &io) != RILL_OK) return Error::last();
      In in;
      in.view = out.session_.template input<T>(i);
      const int axis = io.stream_axis;
      if (!in.view || axis < 0) {
        return refusal(RILL_E_ARG, std::string("input ") + io.name + " is " + io.text +
                                       ": expected a stream of the element type");
      }
      for (int each = 0; each < axis; ++each) in.outer *= in.view.extent(each);
      in.inner = in.view.stride(axis);
      in.place = in.view.data();
      const int64_t pulse = in.view.extent(axis);
      if (i > 0 && pulse != out.pulse_) {
        return refusal(RILL_E_ARG, std::string("input ") + io.name + " has " +
                                       std::to_string(pulse) + " frames per step, and the first " +
                                       std::to_string(out.pulse_));
      }
      out.pulse_ = pulse;
      out.ins_.push_back(in);
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
    return out;
  }

  Session& session() { return session_; }
  /// Return the volume of the axes before the streaming axis of the first input, and after it.
  int64_t outer() const { return ins_[0].outer; }
  int64_t inner() const { return ins_[0].inner; }
  int64_t lanes(size_t input) const { return ins_[input].lanes(); }
  /// Return the lanes of all inputs.
  int64_t lanes() const {
    int64_t all = 0;
    for (const In& in : ins_) all += in.lanes();
    return all;
  }
  int64_t pulse() const { return pulse_; }
  /// Return the number of frames in the pulse that is not full yet.
  int64_t filled() const { return filled_; }
  int64_t room() const { return pulse_ - filled_; }
  /// Return the place of the next frame of a lane; the following one is `step` elements later.
  T* next(int64_t lane, int64_t* step) const {
    size_t input = 0;
    while (lane >= ins_[input].lanes()) lane -= ins_[input++].lanes();
    const In& in = ins_[input];
    *step = in.inner;
    return in.place + (lane / in.inner * pulse_ + filled_) * in.inner + lane % in.inner;
  }
  /// Add frames that were written to all lanes, at most `room()`.
  void add(int64_t frames) { filled_ += frames; }

  /// Fill the next pulse at `place`, from its first frame on; its inputs are adjacent.
  void fill_at(T* place) {
    for (In& in : ins_) {
      in.place = place;
      place += pulse_ * in.lanes();
    }
    filled_ = 0;
  }
  /// Run a pulse that was filled elsewhere, and copy output 0. Its valid frames are `count`,
  /// beginning at `first`.
  rill_status step_copied(const T* pulse, T* output, int64_t* first, int64_t* count) {
    for (const In& in : ins_) {
      const int64_t elements = pulse_ * in.lanes();
      std::memcpy(in.view.data(), pulse, static_cast<size_t>(elements) * sizeof(T));
      pulse += elements;
    }
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
    for (const In& in : ins_) saved.floats(in.place, pulse_ * in.lanes());
    saved.session(session_.get());
  }

 private:
  struct In {
    TensorView<T> view;
    T* place = nullptr;  // of the pulse that is filled
    int64_t outer = 1;
    int64_t inner = 1;

    int64_t lanes() const { return outer * inner; }
  };
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
  std::vector<In> ins_;
  std::vector<int> axes_;  // of the outputs; -1: it does not stream
  int64_t pulse_ = 0;
  int64_t filled_ = 0;
};

}  // namespace detail
}  // namespace abi1
}  // namespace rill
