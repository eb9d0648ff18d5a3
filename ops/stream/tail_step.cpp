#include "ops/stream/tail_step.h"

#include <algorithm>

namespace rill::ops {

void run_tail(const TailArgs& args, const Frame& frame) noexcept {
  if (frame.clock->end < 0) return;
  const int axis = args.axis;
  const int64_t shown = args.from.extent(axis);
  const int64_t start = frame.clock->position(shown - args.overlap) - args.overlap;
  const int64_t begin = frames_at(args.first, frame, 0) + args.delay;
  const int64_t from = std::max(start, begin);
  const int64_t to = std::min(start + shown, begin + args.frames);
  if (from >= to) return;
  copy_plain(frames_of(frame.view(args.from), axis, from - start, to - from),
             frames_of(frame.view(args.kept), axis, from - begin, to - from));
}

void touch_tail_stream(const TailArgs& args, StepTouches& touches) {
  touches.has_axis(args.from, args.axis);
  touches.alike(args.from, args.kept, args.axis);
  touches.within(args.delay, -kMostFrames, kMostFrames);
  if (!touches.holds()) return;
  touches.within(args.overlap, 0, args.from.extent(args.axis));
  touches.require(args.frames == args.kept.extent(args.axis), "the number of kept frames");
  touches.reads(args.from);
  touches.keeps(region(args.kept));
}

extern const StepKind tail_stream_kind;
const StepKind tail_stream_kind = kTail;

}  // namespace rill::ops
