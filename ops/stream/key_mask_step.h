#pragma once

#include "core/run/frames_so_far.h"

namespace rill::ops {

struct KeyMaskArgs {
  int64_t pulse;
  int64_t delay;
  PlacedView to;
  int axis;
  PlacedView value;  ///< a number
  FramesSoFar length;
};

RILL_STEP_FIELDS(KeyMaskArgs, pulse, delay, to, axis, value, length)

void run_key_mask(const KeyMaskArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_key_mask_stream(const KeyMaskArgs& args, StepTouches& touches);

inline constexpr auto kKeyMask =
    step_kind<KeyMaskArgs, run_key_mask, touch_key_mask_stream>("key_mask_stream");

}  // namespace rill::ops
