#pragma once

#include "core/run/frames_so_far.h"

namespace rill::ops {

struct LatchArgs {
  PlacedView from;
  PlacedView kept;
  int axis;
  int64_t first;  ///< position of the first kept frame
};
RILL_STEP_FIELDS(LatchArgs, from, kept, axis, first)

struct SpliceArgs {
  int64_t shown;  ///< frames at the start of a pulse that the previous pulse has output already
  int64_t begin;  ///< position of the prefix
  bool has_prefix;
  bool has_suffix;
  PlacedView to;
  PlacedView prefix;
  PlacedView suffix;
  int axis;
  FramesSoFar end;
};
RILL_STEP_FIELDS(SpliceArgs, shown, begin, has_prefix, has_suffix, to, prefix, suffix, axis, end)

void run_latch(const LatchArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void run_splice(const SpliceArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_latch_stream(const LatchArgs& args, StepTouches& touches);
void touch_splice_stream(const SpliceArgs& args, StepTouches& touches);

inline constexpr auto kLatch = step_kind<LatchArgs, run_latch, touch_latch_stream>("latch_stream");
inline constexpr auto kSplice =
    step_kind<SpliceArgs, run_splice, touch_splice_stream>("splice_stream");

}  // namespace rill::ops
