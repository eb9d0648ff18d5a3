#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

struct ResampleArgs {
  Ref x;
  Ref y;
  Ref indices;
  Ref weights;
  Ref counts;  ///< taps per output; -1 for an output outside of the input
  int64_t outer = 1;
  int64_t from = 0;
  int64_t to = 0;
  int64_t inner = 1;
  int64_t taps = 0;
  float outside = 0.0F;
};

RILL_STEP_FIELDS(ResampleArgs, x, y, indices, weights, counts, outer, from, to, inner, taps,
                 outside)

/// Row-major [outer, from, inner] -> [outer, to, inner].
void run_resample(const ResampleArgs& a, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_resample(const ResampleArgs& a, StepTouches& touches);

inline constexpr auto kResample = step_kind<ResampleArgs, run_resample, touch_resample>("resample");

}  // namespace rill::ops
