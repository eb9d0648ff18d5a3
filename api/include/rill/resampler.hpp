/// @file
/// Conversion of sample rates: a windowed sinc, one row of coefficients per phase.
///
/// Handwritten: libsoxr, libsamplerate, speexdsp and r8brain must be linked, allocate while they
/// run, or do not report their latency to the frame. This one is header only, counts its frames
/// exactly, and is tested against scipy and libsoxr.
#pragma once

#include <cmath>
#include <numeric>

#include "rill/pulses.hpp"

namespace rill {
inline namespace abi1 {

/// Resamples one channel. Frame n of the output is the sound at n / out_rate seconds, so that input
/// and output are aligned; a frame comes out when `lookahead` later input frames have gone in.
/// Before and after the stream there is silence.
/// Source: Kaiser-windowed sinc. With 32 zero crossings, aliases and images are 90 dB below, and
/// frequencies below 0.82 of the lower Nyquist frequency pass within 0.01 dB.
/// Real-time: yes, except `make` and copies.
class Resampler {
 public:
  /// Make a resampler. `crossings`: zero crossings of the sinc on each side, 8 to 256. A larger
  /// number makes the transition narrower and the lookahead longer: `crossings` periods of the
  /// lower rate.
  /// Errors: RILL_E_ARG for rates outside 1 to 10^6 Hz; RILL_E_UNSUPPORTED if the coefficients
  /// would take more than 16 MiB.
  static Result<Resampler> make(int64_t in_rate, int64_t out_rate, int crossings = 32) {
    if (in_rate < 1 || in_rate > 1000000 || out_rate < 1 || out_rate > 1000000) {
      return detail::refusal(RILL_E_ARG, "expected sample rates of 1 to 1000000 Hz, found " +
                                             std::to_string(in_rate) + " and " +
                                             std::to_string(out_rate));
    }
    if (crossings < 8 || crossings > 256) {
      return detail::refusal(RILL_E_ARG, "expected 8 to 256 zero crossings, found " +
                                             std::to_string(crossings));
    }
    Resampler out;
    const int64_t common = std::gcd(in_rate, out_rate);
    out.up_ = out_rate / common;
    out.down_ = in_rate / common;
    if (out.up_ != out.down_) {
      const bool fewer = out.up_ < out.down_;
      out.reach_ = fewer ? (crossings * out.down_ + out.up_ - 1) / out.up_ : crossings;
      if (out.up_ * out.reach_ * 2 > kMostCoefficients) {
        return detail::refusal(RILL_E_UNSUPPORTED,
                               "no coefficients of 16 MiB turn " + std::to_string(in_rate) +
                                   " Hz into " + std::to_string(out_rate) + " Hz",
                               "take rates with a larger common divisor");
      }
      out.design(crossings);
    }
    out.past_.resize(static_cast<size_t>(2 * out.reach_ + kPiece));
    out.reset();
    return out;
  }

  /// Return the number of later input frames that a frame of the output needs.
  int64_t lookahead() const { return reach_; }
  /// Return the number of frames that have come out when `frames` have gone in.
  int64_t count(int64_t frames) const {
    return frames > reach_ ? ((frames - reach_) * up_ + down_ - 1) / down_ : 0;
  }
  /// Return the number of frames that must go in before `frames` have come out; 0 for 0.
  int64_t needed(int64_t frames) const {
    return frames > 0 ? (frames - 1) * down_ / up_ + reach_ + 1 : 0;
  }
  /// Return the maximum number of output frames of one push of `frames`.
  int64_t most(int64_t frames) const { return frames * up_ / down_ + 2; }
  /// Return the numerator of the output rate over the input rate, reduced.
  int64_t up() const { return up_; }
  /// Return the denominator of that ratio.
  int64_t down() const { return down_; }

  /// Push all frames; return the number written to `out`, which has room for `most(frames)`.
  int64_t push(const float* in, int64_t frames, float* out) RILL_REAL_TIME {
    frames_in_ += frames;
    if (up_ == down_) {
      for (int64_t i = 0; i < frames; ++i) out[i] = in[i];
      frames_out_ += frames;
      return frames;
    }
    int64_t written = 0;
    for (int64_t at = 0; at < frames; at += kPiece) {
      const int64_t piece = frames - at < kPiece ? frames - at : kPiece;
      written += take(in ? in + at : nullptr, piece, out + written);
    }
    frames_out_ += written;
    return written;
  }
  /// End the stream; return the number of frames written to `out`, which has room for
  /// `most(lookahead())`. In total, ceil(frames_in * out_rate / in_rate) frames have come out.
  /// Call `reset` before the next push.
  int64_t finish(float* out) RILL_REAL_TIME {
    const int64_t all = (frames_in_ * up_ + down_ - 1) / down_;
    const int64_t left = all - frames_out_;
    if (up_ != down_) (void)push(nullptr, reach_, out);
    return left;
  }
  /// Save or load the stream.
  void state(detail::SavedSound& saved) {
    constexpr int64_t kMostFrames = int64_t{1} << 60;
    saved.same(up_);
    saved.same(down_);
    saved.same(reach_);
    if (up_ == down_) return;
    int64_t held = held_;
    int64_t center = center_;
    saved.number(held, 0, 2 * reach_);
    // All outputs that the frames in `past_` allow have come out.
    const int64_t least = held - reach_ > reach_ - 1 ? held - reach_ : reach_ - 1;
    saved.number(center, least, reach_ + down_);
    saved.number(phase_, 0, up_ - 1);
    saved.number(frames_in_, 0, kMostFrames);
    saved.number(frames_out_, 0, kMostFrames);
    saved.floats(past_.data(), 2 * reach_);
    held_ = held;
    center_ = center;
  }
  /// Return to the state of a new resampler.
  void reset() RILL_REAL_TIME {
    for (float& value : past_) value = 0;
    // The first output needs silence for all taps before its center.
    held_ = up_ == down_ ? 0 : reach_ - 1;
    center_ = held_;
    phase_ = 0;
    frames_in_ = 0;
    frames_out_ = 0;
  }

 private:
  static constexpr int64_t kMostCoefficients = int64_t{1} << 22;
  static constexpr int64_t kPiece = 256;
  static constexpr double kPi = 3.14159265358979323846;
  static constexpr double kAttenuation = 90;  // dB

  Resampler() = default;

  /// Return the modified Bessel function of the first kind, of order 0. Source: its power series.
  static double bessel(double x) {
    double term = 1;
    double sum = 1;
    for (int k = 1; term > 1e-17 * sum; ++k) {
      term *= x / (2 * k) * (x / (2 * k));
      sum += term;
    }
    return sum;
  }

  void design(int crossings) {
    const double beta = 0.1102 * (kAttenuation - 8.7);
    const double transition = (kAttenuation - 7.95) / (2.285 * 2 * crossings * kPi);
    const double ratio = up_ < down_ ? double(up_) / double(down_) : 1.0;
    const double cutoff = ratio * (1 - transition / 2);  // of half the input's rate
    const int64_t taps = 2 * reach_;
    std::vector<double> wide(static_cast<size_t>(up_ * taps));
    double sum = 0;
    for (int64_t phase = 0; phase < up_; ++phase) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const double time = double(reach_ - 1 - tap) + double(phase) / double(up_);
        const double place = time / double(reach_);
        if (place <= -1) continue;
        const double angle = kPi * cutoff * time;
        const double value = (std::abs(time) > 0 ? std::sin(angle) / angle : 1) *
                             bessel(beta * std::sqrt(1 - place * place));
        wide[static_cast<size_t>(phase * taps + tap)] = value;
        sum += value;
      }
    }
    auto rows = std::make_shared<std::vector<float>>(wide.size());
    for (size_t i = 0; i < wide.size(); ++i) (*rows)[i] = float(wide[i] * double(up_) / sum);
    rows_ = std::move(rows);
  }

  /// Sum in eight accumulators, which a compiler keeps in a vector register.
  float tap(const float* past) const {
    const int64_t taps = 2 * reach_;
    const float* row = rows_->data() + phase_ * taps;
    float sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= taps; i += 8) {
      for (int j = 0; j < 8; ++j) sums[j] += row[i + j] * past[i + j];
    }
    for (; i < taps; ++i) sums[i % 8] += row[i] * past[i];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
           ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  }

  /// Push at most `kPiece` frames; null for silence.
  int64_t take(const float* in, int64_t frames, float* out) {
    float* past = past_.data();
    for (int64_t i = 0; i < frames; ++i) past[held_ + i] = in ? in[i] : 0;
    held_ += frames;
    int64_t written = 0;
    for (; center_ + reach_ < held_; ++written) {
      out[written] = tap(past + center_ - reach_ + 1);
      center_ += (phase_ + down_) / up_;
      phase_ = (phase_ + down_) % up_;
    }
    // Move the frames that the next output needs to the front.
    const int64_t first = center_ - reach_ + 1;
    const int64_t drop = first < held_ ? first : held_;
    for (int64_t i = drop; i < held_; ++i) past[i - drop] = past[i];
    held_ -= drop;
    center_ -= drop;
    return written;
  }

  int64_t up_ = 1;
  int64_t down_ = 1;
  int64_t reach_ = 0;  // frames on each side of an output
  std::shared_ptr<const std::vector<float>> rows_;  // [phase][tap]
  std::vector<float> past_;
  int64_t held_ = 0;    // frames in past_
  int64_t center_ = 0;  // in past_: the frame at or before the next output
  int64_t phase_ = 0;   // of the next output past that frame, in 1/up_ frames
  int64_t frames_in_ = 0;
  int64_t frames_out_ = 0;
};

}  // namespace abi1
}  // namespace rill
