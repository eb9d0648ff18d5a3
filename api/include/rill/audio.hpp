/// @file
/// Runs models on the sound of devices: any sample format, rate, number of channels and block size.
/// Header-only C++17 over rill.h. Functions for audio callbacks return errors as a rill_status.
#pragma once

#include "rill/audio_paths.hpp"
#include "rill/ring.hpp"

namespace rill {
inline namespace abi1 {

namespace detail {

inline Result<int64_t> rate_of(const rill_property& property) {
  double value = 0;
  if (property.count == 1 && property.ints) value = static_cast<double>(property.ints[0]);
  if (property.count == 1 && property.floats) value = property.floats[0];
  if (property.count == 1 && property.strings) {
    // Exporters write text. Only digits are read, so that the locale does not matter.
    const std::string text = property.strings[0];
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    for (const char digit : digits&& text.size() < 8 ? text : "") value = value * 10 + digit - '0';
  }
  const int64_t rate = value >= 1 && value <= 1e6 ? static_cast<int64_t>(value) : 0;
  // Rounded down, it is smaller unless it is whole.
  if (rate == 0 || static_cast<double>(rate) < value) {
    return detail::refusal(RILL_E_ARG, std::string("rill.sample_rate: expected a whole number of "
                                                   "Hz, found ") +
                                           property.text);
  }
  return rate;
}

}  // namespace detail

/// Return the sample rate that a model expects, in Hz, from its property `rill.sample_rate`.
/// Errors: RILL_E_ARG if there is none, or if it is not an integer from 1 to 10^6.
inline Result<int64_t> sample_rate(const Model& model) {
  rill_property property = {};
  property.size = sizeof(property);
  if (rill_model_property_find(model.get(), "rill.sample_rate", &property) != RILL_OK) {
    return Error::last();
  }
  return detail::rate_of(property);
}
/// Return the sample rate that the model of a plan expects; compiled models keep it. Errors: as
/// above.
inline Result<int64_t> sample_rate(const Plan& plan) {
  rill_property property = {};
  property.size = sizeof(property);
  if (rill_plan_property_find(plan.get(), "rill.sample_rate", &property) != RILL_OK) {
    return Error::last();
  }
  return detail::rate_of(property);
}

/// Analyses sound: blocks of the device go in, frames of the model's outputs come out. A model of
/// one channel hears the mean of the device's channels; other models have as many channels as the
/// device.
/// Real-time: yes if `emit` is, except `make`.
class AudioListener {
 public:
  /// Make a listener. The plan has one input, or two with `options.reference_channels`, which
  /// stream together; inputs and outputs are f32.
  /// Errors: RILL_E_ARG for another plan, and for invalid rates, channels or blocks;
  /// RILL_E_UNSUPPORTED for rates that `Resampler` refuses.
  static Result<AudioListener> make(const Plan& plan, const AudioOptions& options) {
    if (options.worker) {
      return detail::refusal(RILL_E_ARG, "a listener has no worker",
                             "carry sound to another thread by a rill::Ring, and push it there");
    }
    auto intake = detail::Intake::make(plan, options, detail::Intake::kMixed);
    if (!intake) return intake.error();
    AudioListener out(options, std::move(intake).value());
    for (size_t i = 0; i < rill_plan_count(plan.get(), RILL_OUTPUT); ++i) {
      const auto stream = plan.stream(i);
      if (!stream) return stream.error();
      out.latencies_.push_back(stream.value().axis < 0
                                   ? -1
                                   : detail::latency(out.intake_, stream.value(), options.block));
    }
    return out;
  }

  /// Return the largest lag of an output, in frames of the device: the sound that its newest frame
  /// describes went in at most that many frames ago. -1 if the output does not stream.
  int64_t latency(size_t output = 0) const {
    return output < latencies_.size() ? latencies_[output] : -1;
  }

  /// Push sound, and call `emit(size_t output, TensorView<const float> frames)` with new frames;
  /// the views are valid until `emit` returns.
  /// Errors: RILL_E_DTYPE for an unknown format, RILL_E_SHAPE for a number of channels or frames
  /// that contradicts the options, RILL_E_ARG for null: nothing was taken; those of rill_step.
  template <class Emit>
  rill_status push(const ConstSound& sound, Emit&& emit) RILL_REAL_TIME {
    return take(sound, nullptr, emit);
  }
  /// Push sound for both inputs, with equal numbers of frames. A second input of one channel gets
  /// the mean of the reference's channels.
  /// Errors: as above, and RILL_E_ARG without `options.reference_channels`.
  template <class Emit>
  rill_status push(const ConstSound& sound, const ConstSound& reference,
                   Emit&& emit) RILL_REAL_TIME {
    return take(sound, &reference, emit);
  }
  /// End the stream, and emit all remaining frames. Errors: those of rill_step_partial, such as
  /// RILL_E_STATE if the last pulse was full and its step had to know the end.
  template <class Emit>
  rill_status finish(Emit&& emit) RILL_REAL_TIME {
    return intake_.finish(emit);
  }
  /// Return to the state of a new listener.
  rill_status reset() RILL_REAL_TIME { return intake_.reset(); }

 private:
  AudioListener(const AudioOptions& options, detail::Intake intake)
      : options_(options), intake_(std::move(intake)) {}

  template <class Emit>
  rill_status take(const ConstSound& sound, const ConstSound* reference, Emit& emit) {
    const rill_status fits = detail::check(sound, reference, options_);
    if (fits != RILL_OK) return fits;
    return intake_.take(sound, reference, 0, sound.frames, emit);
  }

  AudioOptions options_;
  detail::Intake intake_;
  std::vector<int64_t> latencies_;
};

/// Passes sound through a model: each call takes some frames and outputs the same number, delayed
/// by `latency()` frames, with silence at first. A model of one channel runs once for each channel
/// of the device; other models have as many channels as the device.
/// Real-time: yes, except `make`.
class AudioEffect {
 public:
  /// Make an effect that plays output 0, at a whole rate of 1/8 to 8 of the input's. Errors: as
  /// AudioListener::make, and RILL_E_ARG unless the output streams and has as many channels as the
  /// input.
  static Result<AudioEffect> make(const Plan& plan, const AudioOptions& options) {
    auto first = detail::Intake::make(plan, options, detail::Intake::kFirstChannel);
    if (!first) return first.error();
    const auto stream = plan.stream(0);
    if (!stream) return stream.error();
    rill_stream_info info = stream.value();
    const rill_stream_info own = info;
    if (options.worker) info.delay += info.pulse;
    // Models of bandwidth extension have outputs of another rate; features are not sound.
    const int64_t scaled = options.model_rate * info.rate_num;
    if (info.rate_den < 1 || info.rate_num > 8 * info.rate_den ||
        info.rate_den > 8 * info.rate_num || scaled % info.rate_den != 0) {
      return detail::refusal(
          RILL_E_ARG, "an effect needs a whole rate of 1/8 to 8 of the input's, found " +
                          std::to_string(info.rate_num) + "/" + std::to_string(info.rate_den));
    }
    auto back = Resampler::make(scaled / info.rate_den, options.device_rate, options.crossings);
    if (!back) return back.error();
    auto outlet = detail::Outlet::make(plan, info, first->lanes());
    if (!outlet) return outlet.error();
    AudioEffect out(options);
    out.latency_ = detail::latency(*first, info, options.block, &*back);
    // A block goes in as a whole before frames come out; without a fixed block length, chunks go in
    // one by one.
    out.piece_ = options.block > 0 ? options.block : detail::kChunk;
    outlet->prepare(*back, out.latency_, out.piece_);
    out.bypass_ = detail::Bypass(options, out.latency_, out.piece_);
    const int64_t runs = options.channels / first->lanes();
    out.runs_.push_back({std::move(first).value(), *outlet});
    for (int64_t run = 1; run < runs; ++run) {
      auto intake = detail::Intake::make(plan, options, run);
      if (!intake) return intake.error();
      out.runs_.push_back({std::move(intake).value(), *outlet});
    }
    for (Run& run : out.runs_) {
      if (options.worker) run.intake.hand_off(own);
    }
    return out;
  }

  /// Return the lag of the output in frames of the device: exact, and the least possible.
  int64_t latency() const { return latency_; }

  /// Push a block, and write as many frames to `out`. `in` and `out` may be the same buffer, with
  /// the same format and layout. Push `latency()` frames of silence to hear the end.
  /// Errors: as AudioListener::push, and RILL_E_SHAPE if `out` and `in` differ in frames.
  /// RILL_E_STATE: the worker was late, so that silence replaces frames; the stream continues.
  rill_status process(const ConstSound& in, const Sound& out) RILL_REAL_TIME {
    return run(in, nullptr, out);
  }
  /// Push a block for both inputs of a model that needs a reference, such as the output of the
  /// loudspeaker. A second input of one channel gets the mean of the reference's channels. A model
  /// of one channel that runs for each channel gets the same reference in each. `out` may be the
  /// buffer of either.
  /// Errors: as above, RILL_E_SHAPE if the blocks differ in frames, and RILL_E_ARG without
  /// `options.reference_channels`.
  rill_status process(const ConstSound& in, const ConstSound& reference,
                      const Sound& out) RILL_REAL_TIME {
    return run(in, &reference, out);
  }

  /// Step all waiting pulses of an effect with `options.worker`, and return their number. A thread
  /// calls it several times per pulse, as AudioWorker does. A pulse is late if it is not done when
  /// the next one is full.
  /// Thread: one calls `work` while another one calls `process`, `bypass` or `late`. Call other
  /// functions only while no thread is in `work`. Real-time: yes.
  int64_t work() RILL_REAL_TIME {
    int64_t done = 0;
    for (bool any = true; any;) {
      any = false;
      for (Run& run : runs_) {
        if (!run.intake.work()) continue;
        any = true;
        ++done;
      }
    }
    return done;
  }
  /// Step in `process` in place of `work`, for hosts that render faster than real time; the output
  /// is the same.
  void offline(bool on) {
    for (Run& run : runs_) run.intake.offline(on);
  }
  /// Return the number of pulses that were late, of all channels, since the last reset.
  int64_t late() const RILL_REAL_TIME {
    int64_t late = 0;
    for (const Run& run : runs_) late += run.intake.late();
    return late;
  }

  /// Play the input instead of the model's output, with the same latency, or return to the output.
  /// The switch fades over 5 ms. The model keeps running, so its state stays current.
  void bypass(bool on) RILL_REAL_TIME { bypass_.set(on); }
  /// Return whether the input is played.
  bool bypassed() const { return bypass_.on(); }

  /// Return the bytes that `save` writes at most, valid until a state is loaded.
  size_t state_bytes() {
    auto saved = detail::SavedSound::count();
    state(saved);
    return saved.bytes();
  }
  /// Write the state of the stream to memory aligned to 8 bytes, and return the bytes in `written`.
  /// Real-time: yes. Errors: RILL_E_ARG for too little memory.
  rill_status save(void* bytes, size_t size, size_t* written) noexcept {
    auto saved = detail::SavedSound::save(bytes, size);
    state(saved);
    *written = saved.bytes();
    return saved.status();
  }
  /// Continue a saved stream, of an effect with the same model and options. The bytes need not be
  /// trusted.
  /// Errors: RILL_E_PARSE for other bytes; those of rill_state_load. The effect is then in the
  /// state of a new one. Real-time: no.
  rill_status load(const void* bytes, size_t size) {
    auto saved = detail::SavedSound::load(bytes, size);
    state(saved);
    if (saved.status() == RILL_OK && saved.bytes() == size) return RILL_OK;
    (void)reset();
    return saved.status() == RILL_OK ? RILL_E_PARSE : saved.status();
  }
  /// Return to the state of a new effect.
  rill_status reset() RILL_REAL_TIME {
    for (Run& run : runs_) {
      const rill_status begun = run.intake.reset();
      if (begun != RILL_OK) return begun;
      run.outlet.reset(latency_);
    }
    bypass_.reset();
    return RILL_OK;
  }

 private:
  struct Run {
    detail::Intake intake;
    detail::Outlet outlet;
  };
  explicit AudioEffect(const AudioOptions& options) : options_(options) {}

  rill_status run(const ConstSound& in, const ConstSound* reference, const Sound& out) {
    rill_status fits = detail::check(in, reference, options_);
    if (fits == RILL_OK) fits = detail::check(out, options_.channels, options_.block);
    if (fits == RILL_OK && in.frames != out.frames) fits = RILL_E_SHAPE;
    if (fits != RILL_OK) return fits;
    const int64_t late = this->late();
    for (int64_t at = 0; at < in.frames; at += piece_) {
      const int64_t frames = in.frames - at < piece_ ? in.frames - at : piece_;
      bypass_.take(in, at, frames);
      for (Run& run : runs_) {
        const auto hear = [&run](size_t output, const TensorView<const float>& heard) {
          if (output == 0) run.outlet.take(heard);
        };
        const rill_status ran = run.intake.take(in, reference, at, frames, hear);
        if (ran != RILL_OK) return ran;
      }
      int32_t channel = 0;
      for (Run& run : runs_) {
        const rill_status given = run.outlet.give(out, channel, at, frames);
        if (given != RILL_OK) return given;
        channel += static_cast<int32_t>(run.intake.lanes());
      }
      bypass_.give(out, at, frames);
    }
    return this->late() == late ? RILL_OK : RILL_E_STATE;
  }

  void state(detail::SavedSound& saved) {
    constexpr int64_t kMark = 0x3154464C4C4952;  // "RILLFT1"
    saved.same(kMark);
    saved.same(options_.device_rate);
    saved.same(options_.model_rate);
    saved.same(options_.channels);
    saved.same(options_.block);
    saved.same(options_.worker ? 1 : 0);
    saved.same(options_.reference_channels);
    saved.same(options_.crossings);
    (void)work();  // so that no pulse waits
    for (Run& run : runs_) {
      run.intake.state(saved);
      run.outlet.state(saved);
    }
    bypass_.state(saved);
  }

  AudioOptions options_;
  std::vector<Run> runs_;
  detail::Bypass bypass_;
  int64_t latency_ = 0;
  int64_t piece_ = 0;
};

}  // namespace abi1
}  // namespace rill
