#pragma once

#include "core/run/frames_so_far.h"

namespace rill::ops {

struct MaskArgs {
  PlacedView value;  ///< a number, or a frame of extent 1 on the axis
  PlacedView view;
  int axis;
  int64_t pulse;
  int64_t overlap;
  int64_t begin;
  FramesSoFar end;
};
RILL_STEP_FIELDS(MaskArgs, value, view, axis, pulse, overlap, begin, end)

void run_mask(const MaskArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_mask_stream(const MaskArgs& args, StepTouches& touches);

inline constexpr auto kMaskStream = step_kind<MaskArgs, run_mask, touch_mask_stream>("mask_stream");

}  // namespace rill::ops
