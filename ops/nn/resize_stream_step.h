#pragma once

#include "core/run/frames_so_far.h"

namespace rill::ops {

/// The taps of an output, relative to the start of its period in the input.
struct Phase {
  List<int64_t> at;
  List<float> weight;
};
RILL_STEP_FIELDS(Phase, at, weight)

struct ResizeArgs {
  int axis = 0;
  bool nearest = false;
  int64_t up = 1;  ///< outputs per `down` inputs: those of a period
  int64_t down = 1;
  int64_t overlap = 0;
  int64_t delay = 0;
  int64_t out_delay = 0;
  List<Phase> phases;
  PlacedView from;
  PlacedView to;
  FramesSoFar length;
};
RILL_STEP_FIELDS(ResizeArgs, axis, nearest, up, down, overlap, delay, out_delay, phases, from, to,
                 length)

void run_resize(const ResizeArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_resize(const ResizeArgs& args, StepTouches& touches);

inline constexpr auto kResize = step_kind<ResizeArgs, run_resize, touch_resize>("resize_stream");

}  // namespace rill::ops
