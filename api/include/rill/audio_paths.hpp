// The paths of sound into a model and out of it; audio.hpp uses them.
#pragma once

#include "rill/handoff.hpp"
#include "rill/resampler.hpp"
#include "rill/sound.hpp"

namespace rill {
inline namespace abi1 {
namespace detail {

constexpr int64_t kChunk = 256;  // frames of the device that are converted at a time

/// Takes sound of the device, resamples it to the model's rate, and steps the model.
class Intake {
 public:
  static constexpr int64_t kMixed = -1;  // a model of one channel hears the mean of all channels
  static constexpr int64_t kFirstChannel = 0;  // or a single channel, counted from 0

  static Result<Intake> make(const Plan& plan, const AudioOptions& options, int64_t heard) {
    if (options.channels < 1 || options.channels > 256 || options.block < 0 ||
        options.block > 1000000) {
      return refusal(RILL_E_ARG,
                     "expected 1 to 256 channels and blocks of 0 to 1000000 frames, "
                     "found " +
                         std::to_string(options.channels) + " and " +
                         std::to_string(options.block));
    }
    if (options.reference_channels < 0 || options.reference_channels > 256) {
      return refusal(RILL_E_ARG, "expected 0 to 256 channels of the reference, found " +
                                     std::to_string(options.reference_channels));
    }
    auto resampler =
        Resampler::make(options.device_rate, options.model_rate, options.crossings);
    if (!resampler) return resampler.error();
    const size_t inputs = options.reference_channels > 0 ? 2 : 1;
    if (inputs == 1 && rill_plan_count(plan.get(), RILL_INPUT) == 2) {
      return refusal(RILL_E_ARG, "the model has 2 inputs, and no channels of a reference are set",
                     "set reference_channels, and pass the sound of the second input with the "
                     "first");
    }
    auto pulses = Pulses<float>::make(plan, inputs);
    if (!pulses) return pulses.error();
    const int32_t channels[] = {options.channels, options.reference_channels};
    for (size_t i = 0; i < inputs; ++i) {
      const int64_t lanes = pulses->lanes(i);
      if (lanes == 1 || lanes == channels[i]) continue;
      return refusal(RILL_E_ARG,
                     std::string(i == 0 ? "the model has " : "the model's second input has ") +
                         std::to_string(lanes) + " channels, and the " +
                         (i == 0 ? "device " : "reference ") + std::to_string(channels[i]),
                     "mix or pick channels before");
    }
    const int64_t first = pulses->lanes(0) == 1 ? heard : 0;
    return Intake(*resampler, std::move(pulses).value(), first);
  }

  /// Return the channels of the first input.
  int64_t lanes() const { return pulses_.lanes(0); }
  int64_t pulse() const { return pulses_.pulse(); }
  const Resampler& resampler() const { return resamplers_[0]; }

  /// Take `frames` frames, starting at `first`. `reference`: the sound of the second input, if the
  /// model has one.
  template <class Emit>
  rill_status take(const ConstSound& sound, const ConstSound* reference, int64_t first,
                   int64_t frames, Emit& emit) {
    for (int64_t at = first; at < first + frames; at += kChunk) {
      const int64_t count = first + frames - at < kChunk ? first + frames - at : kChunk;
      int64_t given = 0;
      for (int64_t lane = 0; lane < all_lanes(); ++lane) {
        if (lane < lanes()) {
          hear(sound, from_ == kMixed ? kMixed : from_ + lane, at, count);
        } else {
          hear(*reference, all_lanes() - lanes() == 1 ? kMixed : lane - lanes(), at, count);
        }
        given = resamplers_[index(lane)].push(heard_.data(), count, row(lane));
      }
      const rill_status fed = feed(given, emit);
      if (fed != RILL_OK) return fed;
    }
    return RILL_OK;
  }

  template <class Emit>
  rill_status finish(Emit& emit) {
    int64_t given = 0;
    for (int64_t lane = 0; lane < all_lanes(); ++lane) {
      given = resamplers_[index(lane)].finish(row(lane));
    }
    const rill_status fed = feed(given, emit);
    return fed == RILL_OK ? pulses_.last(emit) : fed;
  }

  rill_status reset() {
    for (Resampler& resampler : resamplers_) resampler.reset();
    if (handoff_) {
      handoff_->reset();
      pulses_.fill_at(handoff_->place());
    }
    return pulses_.reset();
  }
  void state(SavedSound& saved) {
    for (Resampler& resampler : resamplers_) resampler.state(saved);
    pulses_.state(saved);
    if (handoff_) handoff_->state(saved);
  }

  /// Leave the steps to the thread that calls `work`. `stream`: how output 0 streams.
  void hand_off(const rill_stream_info& stream) {
    handoff_ = std::make_unique<Handoff>(pulses_, stream, pulses_.session().output<float>(0));
    pulses_.fill_at(handoff_->place());
  }
  /// Step a pulse that waits. Returns whether there was one.
  bool work() { return handoff_ && handoff_->work(pulses_); }
  /// Step pulses before their frames are due, without another thread.
  void offline(bool on) { offline_ = on; }
  int64_t late() const { return handoff_ ? handoff_->late() : 0; }

 private:
  Intake(const Resampler& resampler, Pulses<float> pulses, int64_t heard)
      : pulses_(std::move(pulses)), from_(heard), heard_(kChunk) {
    resamplers_.assign(static_cast<size_t>(all_lanes()), resampler);
    const int64_t most = resampler.lookahead() > kChunk ? resampler.lookahead() : kChunk;
    row_ = resampler.most(most);
    rows_.resize(static_cast<size_t>(all_lanes() * row_));
  }

  static size_t index(int64_t lane) { return static_cast<size_t>(lane); }
  float* row(int64_t lane) { return rows_.data() + lane * row_; }
  int64_t all_lanes() const { return pulses_.lanes(); }

  /// Read a channel, or the mean of all for `kMixed`.
  void hear(const ConstSound& sound, int64_t channel, int64_t first, int64_t count) {
    if (channel != kMixed) {
      load(sound, static_cast<int32_t>(channel), first, count, false, heard_.data());
      return;
    }
    for (int32_t each = 0; each < sound.channels; ++each) {
      load(sound, each, first, count, each > 0, heard_.data());
    }
    const float share = 1.0f / static_cast<float>(sound.channels);
    for (int64_t i = 0; i < count; ++i) heard_[static_cast<size_t>(i)] *= share;
  }

  template <class Emit>
  rill_status feed(int64_t frames, Emit& emit) {
    for (int64_t at = 0; at < frames;) {
      const int64_t count = frames - at < pulses_.room() ? frames - at : pulses_.room();
      for (int64_t lane = 0; lane < all_lanes(); ++lane) {
        int64_t step = 0;
        float* to = pulses_.next(lane, &step);
        for (int64_t i = 0; i < count; ++i) to[i * step] = row(lane)[at + i];
      }
      pulses_.add(count);
      at += count;
      if (pulses_.room() > 0) continue;
      const rill_status ran = handoff_ ? hand_on(emit) : pulses_.step(emit);
      if (ran != RILL_OK) return ran;
    }
    return RILL_OK;
  }
  template <class Emit>
  rill_status hand_on(Emit& emit) {
    while (offline_ && work()) {
    }
    const rill_status given = handoff_->fill(emit);
    pulses_.fill_at(handoff_->place());
    return given;
  }

  Pulses<float> pulses_;
  std::unique_ptr<Handoff> handoff_;  // where another thread steps
  bool offline_ = false;
  int64_t from_;  // the first channel of the device that is heard, or kMixed
  std::vector<Resampler> resamplers_;
  std::vector<float> heard_;
  std::vector<float> rows_;  // resampled, a row per lane
  int64_t row_ = 0;
};

/// Resamples frames of the model to the device's rate, and holds them until they are due.
class Outlet {
 public:
  static Result<Outlet> make(const Plan& plan, const rill_stream_info& stream, int64_t lanes) {
    rill_io_info io = {};
    io.size = sizeof(io);
    if (rill_plan_io(plan.get(), RILL_OUTPUT, 0, &io) != RILL_OK) return Error::last();
    int64_t found = 1;
    Outlet out;
    for (int32_t axis = 0; axis < static_cast<int32_t>(io.rank); ++axis) {
      if (axis != stream.axis) found *= io.shape[axis];
      if (axis > stream.axis) out.inner_ *= io.shape[axis];
    }
    if (stream.axis < 0 || found != lanes) {
      return refusal(RILL_E_ARG, std::string("an effect needs a channel of output ") + io.name +
                                     " for each of the input, found " + io.text);
    }
    out.axis_ = stream.axis;
    out.outer_step_ = io.shape[stream.axis] * out.inner_;
    out.lanes_.resize(static_cast<size_t>(lanes));
    return out;
  }

  void prepare(const Resampler& resampler, int64_t latency, int64_t piece) {
    resampled_.resize(static_cast<size_t>(resampler.most(kChunk)));
    chunk_.resize(static_cast<size_t>(kChunk));
    resamplers_.assign(lanes_.size(), resampler);
    // Frames of a piece that are not due yet, and 1 for the rounding of counts.
    for (Lane& lane : lanes_) lane.waiting.resize(static_cast<size_t>(latency + piece + 2));
    reset(latency);
  }

  void take(const TensorView<const float>& heard) {
    const int64_t frames = heard.extent(axis_);
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      const int64_t index = static_cast<int64_t>(lane);
      const float* from = heard.data() + index / inner_ * outer_step_ + index % inner_;
      for (int64_t at = 0; at < frames; at += kChunk) {
        const int64_t count = frames - at < kChunk ? frames - at : kChunk;
        for (int64_t i = 0; i < count; ++i) {
          chunk_[static_cast<size_t>(i)] = from[(at + i) * inner_];
        }
        keep(lanes_[lane], resamplers_[lane].push(chunk_.data(), count, resampled_.data()));
      }
    }
  }

  /// Write the next `count` frames, which are due. Errors: RILL_E_INTERNAL if frames are missing.
  rill_status give(const Sound& out, int32_t channel, int64_t first, int64_t count) {
    for (Lane& lane : lanes_) {
      if (overrun_ || lane.held < count) return RILL_E_INTERNAL;
      const int64_t size = static_cast<int64_t>(lane.waiting.size());
      with_format(out.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        const Channel<T> to = channel_of<T>(out, channel, first);
        for (int64_t i = 0; i < count; ++i) {
          to.first[i * to.step] = to_sample<T>(lane.waiting[static_cast<size_t>(lane.first)]);
          lane.first = lane.first + 1 < size ? lane.first + 1 : 0;
        }
      });
      lane.held -= count;
      ++channel;
    }
    return RILL_OK;
  }

  void state(SavedSound& saved) {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      const int64_t size = static_cast<int64_t>(lane.waiting.size());
      saved.same(size);
      saved.number(lane.first, 0, size - 1);
      saved.number(lane.held, 0, size);
      saved.floats(lane.waiting.data(), size);
      resamplers_[i].state(saved);
    }
  }
  /// Reset, with `latency` frames of silence at first.
  void reset(int64_t latency) {
    for (Resampler& resampler : resamplers_) resampler.reset();
    for (Lane& lane : lanes_) {
      for (float& value : lane.waiting) value = 0;
      lane.first = 0;
      lane.held = latency;
    }
    overrun_ = false;
  }

 private:
  struct Lane {
    std::vector<float> waiting;  // a ring
    int64_t first = 0;
    int64_t held = 0;
  };
  Outlet() = default;

  void keep(Lane& lane, int64_t count) {
    const int64_t size = static_cast<int64_t>(lane.waiting.size());
    for (int64_t i = 0; i < count; ++i) {
      if (lane.held == size) overrun_ = true;
      if (overrun_) return;
      lane.waiting[static_cast<size_t>((lane.first + lane.held++) % size)] =
          resampled_[static_cast<size_t>(i)];
    }
  }

  std::vector<Lane> lanes_;
  std::vector<Resampler> resamplers_;  // one per lane
  std::vector<float> chunk_;
  std::vector<float> resampled_;
  int axis_ = -1;
  int64_t inner_ = 1;
  int64_t outer_step_ = 1;
  bool overrun_ = false;  // more frames came than could be due
};

/// Sound of the device delayed by the latency of an effect, to be heard in its place: a click-free
/// switch between both fades over 5 ms.
class Bypass {
 public:
  Bypass() = default;
  Bypass(const AudioOptions& options, int64_t latency, int64_t piece)
      : fade_(options.device_rate / 200 + 1), latency_(latency) {
    for (int32_t i = 0; i < options.channels; ++i) {
      rings_.emplace_back(static_cast<size_t>(latency + piece));
    }
  }

  void set(bool on) { on_ = on; }
  bool on() const { return on_; }
  /// Keep a piece of a block before the effect overwrites it.
  void take(const ConstSound& in, int64_t first, int64_t count) {
    const int64_t size = this->size();
    for (size_t channel = 0; channel < rings_.size(); ++channel) {
      const int64_t part = size - at_ < count ? size - at_ : count;
      load(in, static_cast<int32_t>(channel), first, part, false, rings_[channel].data() + at_);
      load(in, static_cast<int32_t>(channel), first + part, count - part, false,
           rings_[channel].data());
    }
  }
  /// Mix the piece that was taken, `latency` frames late, into the same piece of the effect's
  /// output.
  void give(const Sound& out, int64_t first, int64_t count) {
    const int64_t goal = on_ ? fade_ : 0;
    if (share_ != goal || share_ != 0) {
      for (size_t channel = 0; channel < rings_.size(); ++channel) {
        with_format(out.format, [&](auto* type) {
          using T = std::remove_pointer_t<decltype(type)>;
          mix(channel_of<T>(out, static_cast<int32_t>(channel), first), rings_[channel].data(),
              count, goal);
        });
      }
      for (int64_t i = 0; i < count && share_ != goal; ++i) share_ += share_ < goal ? 1 : -1;
    }
    at_ = (at_ + count) % size();
  }
  void reset() {
    for (std::vector<float>& ring : rings_) {
      for (float& value : ring) value = 0;
    }
    at_ = 0;
    share_ = on_ ? fade_ : 0;
  }
  void state(SavedSound& saved) {
    int64_t on = on_ ? 1 : 0;
    saved.same(size());
    saved.number(on, 0, 1);
    saved.number(at_, 0, size() - 1);
    saved.number(share_, 0, fade_);
    for (std::vector<float>& ring : rings_) saved.floats(ring.data(), size());
    on_ = on == 1;
  }

 private:
  int64_t size() const { return static_cast<int64_t>(rings_[0].size()); }

  template <class T>
  void mix(const Channel<T>& to, const float* ring, int64_t count, int64_t goal) const {
    int64_t share = share_;
    for (int64_t i = 0; i < count; ++i) {
      if (share != goal) share += share < goal ? 1 : -1;
      const float dry = ring[(at_ + i + size() - latency_) % size()];
      T& place = to.first[i * to.step];
      const float part = static_cast<float>(share) / static_cast<float>(fade_);
      if (share == fade_) {
        place = to_sample<T>(dry);
      } else if (share > 0) {
        const float wet = from_sample(place);
        place = to_sample<T>(wet + (dry - wet) * part);
      }
    }
  }

  std::vector<std::vector<float>> rings_;  // by channel: the last `latency_` frames and a piece
  int64_t fade_ = 1;                       // frames
  int64_t latency_ = 0;
  int64_t at_ = 0;     // the next frame in the rings
  int64_t share_ = 0;  // of the delayed sound, of `fade_`
  bool on_ = false;
};

/// Return the maximum number of device frames that have gone in without having come out: at any
/// time, or at the ends of blocks if their length is given. `back` resamples the output to the
/// device; without it, a frame of the model counts as the sound that it describes.
inline int64_t latency(const Intake& intake, const rill_stream_info& stream, int64_t block,
                       const Resampler* back = nullptr) {
  const Resampler& in = intake.resampler();
  const int64_t pulse = intake.pulse();
  const auto heard = [&](int64_t steps) {
    int64_t frames = steps * stream.pulse - stream.delay;
    if (frames < 0) frames = 0;
    if (back) return back->count(frames);
    return frames * stream.rate_den * in.down() / (stream.rate_num * in.up());
  };
  // Steps until both resamplers give frames, then all phases that steps can meet. The maximum is
  // reached just before the last frame of a step goes in: all frames since the previous step are
  // missing then.
  const int64_t lag = stream.delay + (back ? back->lookahead() : 0);
  const int64_t begun = lag / (stream.pulse > 0 ? stream.pulse : 1) + 2;
  const int64_t steps = begun + in.up() * stream.rate_den / std::gcd(in.up(), pulse);
  int64_t most = 0;
  if (block == 0) {
    for (int64_t step = 1; step <= steps; ++step) {
      const int64_t missing = in.needed(step * pulse) - 1 - heard(step - 1);
      if (missing > most) most = missing;
    }
    return most;
  }
  const int64_t period = in.down() * (pulse / std::gcd(in.up(), pulse));
  const int64_t last =
      in.needed((begun + 1) * pulse) / block + 1 + period / std::gcd(period, block);
  for (int64_t blocks = 1; blocks <= last; ++blocks) {
    const int64_t missing = blocks * block - heard(in.count(blocks * block) / pulse);
    if (missing > most) most = missing;
  }
  return most;
}

}  // namespace detail
}  // namespace abi1
}  // namespace rill
