#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

// Separate from depthwise.h so that tier files include only plain data and declarations.

namespace rill::kernels {

/// Arguments of a depthwise convolution. Frames are rows of contiguous channels; all strides are in
/// floats. Two tap levels make a 2-D window: `taps_outer` rows of `taps` frames each.
struct DepthwiseF32Args {
  int64_t frames = 0, channels = 0;  // of the output
  int64_t taps = 0;
  int64_t taps_outer = 1;  // 1 for a 1-D window

  const float* x = nullptr;        // the first tap of the first output frame
  int64_t x_frame_stride = 0;      // between the first taps of two output frames: stride * row
  int64_t x_tap_stride = 0;        // between taps: dilation * row
  int64_t x_tap_outer_stride = 0;  // between outer taps

  const float* w = nullptr;     // [taps_outer][taps][channels]
  const float* bias = nullptr;  // `channels` values, or null

  float* y = nullptr;
  int64_t y_frame_stride = 0;

  // Applied last: min(max(value, lo), hi). A NaN stays.
  bool clip = false;
  float lo = 0.0f, hi = 0.0f;
};

#define RILL_KERNEL(needs, name) \
  void name(const DepthwiseF32Args& args) noexcept RILL_NONBLOCKING;
#include "kernels/depthwise/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
