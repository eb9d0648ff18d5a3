#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

struct FillFramesArgs {
  PlacedView all;
  float value;
};
RILL_STEP_FIELDS(FillFramesArgs, all, value)

void run_fill_frames(const FillFramesArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_fill_frames(const FillFramesArgs& args, StepTouches& touches);

inline constexpr auto kFillFrames =
    step_kind<FillFramesArgs, run_fill_frames, touch_fill_frames>("fill_frames");

}  // namespace rill::ops
