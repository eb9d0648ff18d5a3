#pragma once

#include "core/run/frames_so_far.h"
#include "ops/math/kinds.h"

namespace rill::ops {

struct TallyArgs {
  ReduceKind kind = ReduceKind::kSum;
  bool last = false;  ///< argmin, argmax: the last of equal extrema
  int64_t delay = 0;
  PlacedView from;  ///< [outputs, frames, elements of one output in one frame]
  PlacedView to;    ///< [outputs]
  Ref state;
  FramesSoFar length;
};
RILL_STEP_FIELDS(TallyArgs, kind, last, delay, from, to, state, length)

/// Bytes of state per output.
inline constexpr int64_t kTallyBytes = 24;

void run_tally(const TallyArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_tally(const TallyArgs& args, StepTouches& touches);

inline constexpr auto kTally = step_kind<TallyArgs, run_tally, touch_tally>("tally_stream");

}  // namespace rill::ops
