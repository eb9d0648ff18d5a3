// Takes sound as devices hand it over through models: any format, rate, channels and block size.
// Header-only C++17 over rill.h. What an audio callback may call returns errors as a rill_status.
#pragma once

#include "rill/audio_paths.hpp"
#include "rill/ring.hpp"

namespace rill {
inline namespace abi1 {

/// Read the rate of the sound that a model expects, in Hz, from its property `rill.sample_rate`.
/// Errors: RILL_E_ARG if there is none, or if it is no whole number of 1 to 10^6 Hz.
inline Result<int64_t> sample_rate(const Model& model) {
  rill_property property = {};
  property.size = sizeof(property);
  if (rill_model_property_find(model.get(), "rill.sample_rate", &property) != RILL_OK) {
    return Error::last();
  }
  double value = 0;
  if (property.count == 1 && property.ints) value = static_cast<double>(property.ints[0]);
  if (property.count == 1 && property.floats) value = property.floats[0];
  if (property.count == 1 && property.strings) {
    // Exporters write text. Digits alone, so that no locale has a say.
    const std::string text = property.strings[0];
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    for (const char digit : digits && text.size() < 8 ? text : "") value = value * 10 + digit - '0';
  }
  const int64_t rate = value >= 1 && value <= 1e6 ? static_cast<int64_t>(value) : 0;
  // Rounded down, it is smaller unless it is whole.
  if (rate == 0 || static_cast<double>(rate) < value) {
    return detail::refusal(RILL_E_ARG, std::string("rill.sample_rate: expected a whole number of "
                                                   "Hz, found ") + property.text);
  }
  return rate;
}

/// Has a model listen: sound goes in, and what the model makes of it comes out, in frames of its
/// own. A model of one channel hears the mean of the device's; others have as many as the device.
/// Real-time, but for `make`: yes, if `emit` is.
class AudioListener {
 public:
  /// Errors: RILL_E_ARG for rates, channels or blocks that make no sense or that the model does not
  /// have, and unless the plan has one input, which streams, and it and all outputs are of floats;
  /// RILL_E_UNSUPPORTED for rates that `Resampler` refuses.
  static Result<AudioListener> make(const Plan& plan, const AudioOptions& options) {
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

  /// Tell how far an output may lag: at most so many frames of the device have gone in after the
  /// sound that the newest frame of the output stands for. -1 if it does not stream.
  int64_t latency(size_t output = 0) const {
    return output < latencies_.size() ? latencies_[output] : -1;
  }

  /// Take sound, and have `emit(size_t output, TensorView<const float> frames)` called with what
  /// comes out; the views are good until it returns.
  /// Errors: RILL_E_DTYPE for a format, RILL_E_SHAPE for a number of channels or frames that are
  /// not those told; RILL_E_ARG for null; those of rill_step. Nothing is taken then.
  template <class Emit>
  rill_status push(const ConstSound& sound, Emit&& emit) RILL_REAL_TIME {
    const rill_status fits = detail::check(sound, options_);
    if (fits != RILL_OK) return fits;
    return intake_.take(sound, 0, sound.frames, emit);
  }
  /// End the stream, and bring out all that is left. Errors: those of rill_step_partial, such as
  /// RILL_E_STATE where the last pulse was full, and its step had to know the end.
  template <class Emit>
  rill_status finish(Emit&& emit) RILL_REAL_TIME {
    return intake_.finish(emit);
  }
  /// Begin anew.
  rill_status reset() RILL_REAL_TIME { return intake_.reset(); }

 private:
  AudioListener(const AudioOptions& options, detail::Intake intake)
      : options_(options), intake_(std::move(intake)) {}

  AudioOptions options_;
  detail::Intake intake_;
  std::vector<int64_t> latencies_;
};

/// Passes sound through a model: as many frames come out of each call as went in, late by
/// `latency()` frames. The stream begins with that many frames of silence. A model of one channel
/// runs once for each of the device's; others have as many as the device.
/// Real-time, but for `make`: yes.
class AudioEffect {
 public:
  /// Output 0 is heard. Errors: as AudioListener's, and RILL_E_ARG unless that output has one frame
  /// for each frame of the input, and as many channels.
  static Result<AudioEffect> make(const Plan& plan, const AudioOptions& options) {
    auto first = detail::Intake::make(plan, options, detail::Intake::kApart);
    if (!first) return first.error();
    const auto stream = plan.stream(0);
    if (!stream) return stream.error();
    const rill_stream_info& info = stream.value();
    auto back = Resampler::make(options.model_rate, options.device_rate);
    if (!back) return back.error();
    auto outlet = detail::Outlet::make(plan, info, first->lanes());
    if (!outlet) return outlet.error();
    AudioEffect out(options);
    out.latency_ = detail::latency(*first, info, options.block, &*back);
    // A whole block goes in before it comes out; where blocks have any length, a chunk of it does.
    out.piece_ = options.block > 0 ? options.block : detail::kChunk;
    outlet->prepare(*back, out.latency_, out.piece_);
    const int64_t runs = options.channels / first->lanes();
    out.runs_.push_back({std::move(first).value(), *outlet});
    for (int64_t run = 1; run < runs; ++run) {
      auto intake = detail::Intake::make(plan, options, run);
      if (!intake) return intake.error();
      out.runs_.push_back({std::move(intake).value(), *outlet});
    }
    return out;
  }

  /// Tell by how many frames of the device the output lags, which is exact and the least possible.
  int64_t latency() const { return latency_; }

  /// Take a block and give as many frames of what came before. `in` and `out` may be one buffer of
  /// the same format and layout. Feed `latency()` frames of silence to hear the end.
  /// Errors: as AudioListener::push, and RILL_E_SHAPE where `out` has more or fewer than `in`.
  rill_status process(const ConstSound& in, const Sound& out) RILL_REAL_TIME {
    rill_status fits = detail::check(in, options_);
    if (fits == RILL_OK) fits = detail::check(out, options_);
    if (fits == RILL_OK && in.frames != out.frames) fits = RILL_E_SHAPE;
    if (fits != RILL_OK) return fits;
    for (int64_t at = 0; at < in.frames; at += piece_) {
      const int64_t frames = in.frames - at < piece_ ? in.frames - at : piece_;
      for (Run& run : runs_) {
        const auto hear = [&run](size_t output, const TensorView<const float>& heard) {
          if (output == 0) run.outlet.take(heard);
        };
        const rill_status ran = run.intake.take(in, at, frames, hear);
        if (ran != RILL_OK) return ran;
      }
      int32_t channel = 0;
      for (Run& run : runs_) {
        const rill_status given = run.outlet.give(out, channel, at, frames);
        if (given != RILL_OK) return given;
        channel += static_cast<int32_t>(run.intake.lanes());
      }
    }
    return RILL_OK;
  }
  /// Begin anew.
  rill_status reset() RILL_REAL_TIME {
    for (Run& run : runs_) {
      const rill_status begun = run.intake.reset();
      if (begun != RILL_OK) return begun;
      run.outlet.reset(latency_);
    }
    return RILL_OK;
  }

 private:
  struct Run {
    detail::Intake intake;
    detail::Outlet outlet;
  };
  explicit AudioEffect(const AudioOptions& options) : options_(options) {}

  AudioOptions options_;
  std::vector<Run> runs_;
  int64_t latency_ = 0;
  int64_t piece_ = 0;
};

}  // namespace abi1
}  // namespace rill
