#pragma once

#include "kernels/fft/fft.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

struct StftArgs {
  kernels::FftPlan plan;
  Ref tables;
  bool real = false;
  bool windowed = false;
  bool gather = false;  ///< samples are not contiguous
  int64_t frame = 0;
  int64_t bins = 0;
  int64_t frames = 0;
  int64_t sample_step = 1;  ///< floats between samples
  int64_t frame_step = 0;   ///< floats between the first samples of two frames
  int64_t imaginary = 0;    ///< floats from a sample's real to its imaginary part
  int64_t y_frame = 0;
  int64_t y_imaginary = 0;
  int lanes = 0;  ///< the number of loops around the kernel
  int64_t lane_count[kMaxRank] = {};
  int64_t lane_x[kMaxRank] = {};
  int64_t lane_y[kMaxRank] = {};
  Ref x;
  Ref y;
  Ref window;
  Ref scratch;
};

RILL_STEP_FIELDS(StftArgs, plan, tables, real, windowed, gather, frame, bins, frames, sample_step,
                 frame_step, imaginary, y_frame, y_imaginary, lanes, lane_count, lane_x, lane_y, x,
                 y, window, scratch)

void run_stft(const StftArgs& a, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_stft(const StftArgs& a, StepTouches& touches);

inline constexpr auto kStft = step_kind<StftArgs, run_stft, touch_stft>("stft");

}  // namespace rill::ops
