/// @file
/// Blocks of sound in the memory of devices and hosts, and conversion of their samples.
#pragma once

#include <cmath>

#include "rill/rill.hpp"

namespace rill {
inline namespace abi1 {

/// The type of samples.
enum class SampleFormat : int32_t {
  kInt16 = 0,  ///< full scale is 2^15
  kInt32 = 1,  ///< full scale is 2^31
  kFloat = 2   ///< full scale is 1
};

/// A block of sound in the caller's memory, interleaved or with a plane per channel. Void is `const
/// void` for sound that is read. Callers may fill the fields by hand; functions that take the block
/// refuse invalid values.
template <class Void>
struct SoundOf {
  SampleFormat format = SampleFormat::kFloat;  ///< type of the samples
  int32_t channels = 0;          ///< number of channels
  int64_t frames = 0;            ///< samples of each channel
  Void* data = nullptr;          ///< interleaved, or null
  const void* planes = nullptr;  ///< planar: an array of a `T*` or `const T*` per channel, or null

  /// Describe interleaved samples; `T`: int16_t, int32_t or float.
  template <class T>
  static SoundOf interleaved(T* data, int32_t channels, int64_t frames) {
    return {format_of<T>(), channels, frames, data, nullptr};
  }
  /// Describe one array of samples per channel.
  template <class T>
  static SoundOf planar(T* const* planes, int32_t channels, int64_t frames) {
    return {format_of<T>(), channels, frames, nullptr, planes};
  }
  /// Return the format of a C++ type.
  template <class T>
  static constexpr SampleFormat format_of() {
    using Plain = std::remove_const_t<T>;
    static_assert(std::is_same_v<Plain, int16_t> || std::is_same_v<Plain, int32_t> ||
                      std::is_same_v<Plain, float>,
                  "sound is int16_t, int32_t or float");
    if (std::is_same_v<Plain, int16_t>) return SampleFormat::kInt16;
    return std::is_same_v<Plain, int32_t> ? SampleFormat::kInt32 : SampleFormat::kFloat;
  }
};
/// A block that is written.
using Sound = SoundOf<void>;
/// A block that is read.
using ConstSound = SoundOf<const void>;

/// Rates, channels and block size of a device, and the rate of the model.
struct AudioOptions {
  int64_t device_rate = 0;  ///< Hz
  int64_t model_rate = 0;   ///< Hz; `sample_rate` reads it from a model
  int32_t channels = 1;     ///< of the device
  /// Number of frames of each call, or a divisor of it: the latency is lower if blocks and pulses
  /// fit. 0: calls have any number of frames.
  int64_t block = 0;
  /// Leave the steps of an effect to a thread of the app, which calls `AudioEffect::work`. The
  /// output of a pulse is due when the next one is full: the latency grows by a pulse.
  bool worker = false;
  /// Channels of the second input, such as the output of a loudspeaker; 0: the model has one
  /// input.
  int32_t reference_channels = 0;
  int crossings = 32;  ///< of the resamplers, see `Resampler::make`
};

namespace detail {

inline float from_sample(int16_t sample) { return static_cast<float>(sample) * 0x1p-15f; }
inline float from_sample(int32_t sample) { return static_cast<float>(sample) * 0x1p-31f; }
inline float from_sample(float sample) { return sample; }

/// Round to the nearest value of the type, clamp to its range; NaN becomes 0.
template <class T>
T to_sample(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    constexpr double scale = std::is_same_v<T, int16_t> ? 0x1p15 : 0x1p31;
    const double scaled = static_cast<double>(value) * scale;
    if (!(scaled > -scale)) return scaled <= -scale ? static_cast<T>(-scale) : T{0};
    return static_cast<T>(scaled < scale - 1 ? std::nearbyint(scaled) : scale - 1);
  }
}

/// Samples of one channel, and their distance in samples.
template <class T>
struct Channel {
  T* first = nullptr;
  int64_t step = 1;
};
template <class T, class Void>
Channel<T> channel_of(const SoundOf<Void>& sound, int32_t channel, int64_t first) {
  if (sound.planes) return {static_cast<T* const*>(sound.planes)[channel] + first, 1};
  return {static_cast<T*>(sound.data) + first * sound.channels + channel, sound.channels};
}

/// Call `visit` with a null pointer to the samples' type.
template <class Visit>
void with_format(SampleFormat format, Visit&& visit) {
  if (format == SampleFormat::kInt16) visit(static_cast<int16_t*>(nullptr));
  if (format == SampleFormat::kInt32) visit(static_cast<int32_t*>(nullptr));
  if (format == SampleFormat::kFloat) visit(static_cast<float*>(nullptr));
}

inline void load(const ConstSound& sound, int32_t channel, int64_t first, int64_t count, bool add,
                 float* to) {
  with_format(sound.format, [&](auto* type) {
    using T = const std::remove_pointer_t<decltype(type)>;
    const auto from = channel_of<T>(sound, channel, first);
    for (int64_t i = 0; i < count; ++i) {
      const float value = from_sample(from.first[i * from.step]);
      to[i] = add ? to[i] + value : value;
    }
  });
}

template <class Void>
rill_status check(const SoundOf<Void>& sound, int32_t channels, int64_t block) {
  const int32_t format = static_cast<int32_t>(sound.format);
  if (format < 0 || format > 2) return RILL_E_DTYPE;
  if (sound.channels != channels || sound.frames < 0) return RILL_E_SHAPE;
  if (block > 0 && sound.frames % block != 0) return RILL_E_SHAPE;
  if (sound.frames == 0) return RILL_OK;
  if (!sound.planes) return sound.data ? RILL_OK : RILL_E_ARG;
  for (int32_t channel = 0; channel < sound.channels; ++channel) {
    bool present = false;
    with_format(sound.format, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      using Sample = std::conditional_t<std::is_const_v<Void>, const T, T>;
      present = static_cast<Sample* const*>(sound.planes)[channel] != nullptr;
    });
    if (!present) return RILL_E_ARG;
  }
  return RILL_OK;
}
/// Check a block, and the reference's if there is one. Models of one input have no reference.
inline rill_status check(const ConstSound& sound, const ConstSound* reference,
                         const AudioOptions& options) {
  const rill_status status = check(sound, options.channels, options.block);
  if (status != RILL_OK) return status;
  if ((options.reference_channels > 0) != (reference != nullptr)) return RILL_E_ARG;
  if (!reference) return RILL_OK;
  if (reference->frames != sound.frames) return RILL_E_SHAPE;
  return check(*reference, options.reference_channels, options.block);
}

}  // namespace detail
}  // namespace abi1
}  // namespace rill
