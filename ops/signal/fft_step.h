#pragma once

#include "kernels/fft/fft.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

struct FftArgs {
  kernels::FftPlan plan;
  Ref tables;
  bool inverse = false;
  int64_t points = 0;
  int64_t lanes = 0;
  Ref x;  ///< [2][lanes][points], gathered
  Ref y;
  Ref scratch;
};

RILL_STEP_FIELDS(FftArgs, plan, tables, inverse, points, lanes, x, y, scratch)

void run_fft(const FftArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_fft(const FftArgs& args, StepTouches& touches);

inline constexpr auto kFft = step_kind<FftArgs, run_fft, touch_fft>("fft");

}  // namespace rill::ops
