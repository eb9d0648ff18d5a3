#pragma once

#include "core/run/frames_so_far.h"

namespace rill::ops {

struct TailArgs {
  int axis;
  int64_t overlap;
  int64_t frames;
  int64_t delay;
  Extent first;  ///< number of the first kept frame
  PlacedView from;
  PlacedView kept;
};
RILL_STEP_FIELDS(TailArgs, axis, overlap, frames, delay, first, from, kept)

void run_tail(const TailArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_tail_stream(const TailArgs& args, StepTouches& touches);

inline constexpr auto kTail = step_kind<TailArgs, run_tail, touch_tail_stream>("tail_stream");

}  // namespace rill::ops
