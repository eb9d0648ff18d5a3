#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

// Separate from pool.h so that tier files include only plain data and declarations.

namespace rill::kernels {

/// Arguments of a pool. Frames are rows of contiguous channels; all strides are in floats. Two tap
/// levels make a 2-D window: `taps_outer` rows of `taps` frames each.
struct PoolF32Args {
  int64_t frames = 0, channels = 0;  // of the output
  int64_t taps = 0;
  int64_t taps_outer = 1;  // 1 for a 1-D window

  const float* x = nullptr;        // the first tap of the first output frame
  int64_t x_frame_stride = 0;      // between the first taps of two output frames: stride * row
  int64_t x_tap_stride = 0;        // between taps: dilation * row
  int64_t x_tap_outer_stride = 0;  // between outer taps

  float* y = nullptr;
  int64_t y_frame_stride = 0;

  float scale = 1.0f;  // sums only: multiplies each sum; 1 / taps for an average
};

#define RILL_KERNEL(needs, suffix)                                               \
  void pool_max_f32_##suffix(const PoolF32Args& args) noexcept RILL_NONBLOCKING; \
  void pool_sum_f32_##suffix(const PoolF32Args& args) noexcept RILL_NONBLOCKING;
#include "kernels/pool/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
