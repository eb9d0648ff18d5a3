#pragma once

#include "core/run/frames_so_far.h"

namespace rill::ops {

struct BorderStreamArgs {
  bool reflect;
  int64_t before;
  int64_t shown;
  int64_t overlap;
  int64_t delay;
  int64_t out_delay;
  PlacedView from;
  PlacedView to;
  int axis;
  int64_t pulse;
  FramesSoFar length;
};
RILL_STEP_FIELDS(BorderStreamArgs, reflect, before, shown, overlap, delay, out_delay, from, to,
                 axis, pulse, length)

void run_border_stream(const BorderStreamArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_border_stream(const BorderStreamArgs& args, StepTouches& touches);

inline constexpr auto kBorderStream =
    step_kind<BorderStreamArgs, run_border_stream, touch_border_stream>("border_stream");

}  // namespace rill::ops
