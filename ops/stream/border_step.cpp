#include "ops/stream/border_step.h"

#include <algorithm>

namespace rill::ops {

namespace {

/// A run of source frames: ascending (step 1), descending (-1), or one frame repeated (0).
struct Run {
  int64_t place = 0;
  int64_t step = 0;
  int64_t count = 0;
};

/// Return the source frames of frame `at` of the unpadded stream and of the frames after it. Frame
/// 0 is at `shift`.
Run run_from(const BorderStreamArgs& op, int64_t at, int64_t frames, int64_t shift) {
  if (at >= 0 && at < frames) return {at + shift, 1, frames - at};
  const int64_t count = at < 0 ? -at : INT64_MAX;
  if (!op.reflect) return {(at < 0 || frames < 1 ? 0 : frames - 1) + shift, 0, count};
  return {(at < 0 ? -at : 2 * (frames - 1) - at) + shift, -1, count};
}

/// Clip the first part of a run to [0, last]. Frames outside the padded stream may have any
/// content.
Run within(Run run, int64_t last) {
  const bool low = run.place < 0;
  if (low || run.place > last) {
    const bool nears = run.step == (low ? 1 : -1);
    const int64_t away = low ? -run.place : run.place - last;
    return {low ? 0 : last, 0, nears ? std::min(run.count, away) : run.count};
  }
  const int64_t ahead = run.step > 0 ? last - run.place : run.place;
  return {run.place, run.step, run.step == 0 ? run.count : std::min(run.count, ahead + 1)};
}

}  // namespace

void run_border_stream(const BorderStreamArgs& args, const Frame& frame) noexcept {
  const View from = frame.view(args.from);
  const View to = frame.view(args.to);
  const auto axis = static_cast<size_t>(args.axis);
  const int64_t start = frame.clock->position(args.pulse);
  const int64_t known = args.length.now(frame);
  // The padded frame that output frame 0 shows, and the offset from a frame's number to its index
  // in `from`.
  const int64_t first = start - args.shown - args.out_delay - args.before;
  const int64_t shift = args.delay - start + args.overlap;
  const int64_t count = to.extent(args.axis);
  for (int64_t i = 0; i < count;) {
    Run run = run_from(args, first + i, known, shift);
    run = within(run, from.extent(args.axis) - 1);
    run.count = std::min(run.count, count - i);
    View shown = frames_of(from, args.axis, run.place, 1);
    shown.shape[axis] = run.count;
    shown.stride[axis] *= run.step;
    copy_plain(shown, frames_of(to, args.axis, i, run.count));
    i += run.count;
  }
}

void touch_border_stream(const BorderStreamArgs& args, StepTouches& touches) {
  touches.has_axis(args.from, args.axis);
  touches.alike(args.from, args.to, args.axis);
  touches.within(args.pulse, 0, kMostFrames);
  if (!touches.holds()) return;
  touches.within(args.before, 0, kMostFrames);
  touches.within(args.shown, 0, kMostFrames);
  touches.within(args.overlap, 0, args.from.extent(args.axis));
  for (const int64_t delay : {args.delay, args.out_delay}) {
    touches.within(delay, -kMostFrames, kMostFrames);
  }
  if (!touches.holds()) return;
  touches.require(
      args.to.extent(args.axis) - args.shown == args.from.extent(args.axis) - args.overlap,
      "frames of a pulse after the repeated ones");
  touches.require(args.from.extent(args.axis) > 0 || args.to.volume() == 0, "frames to show");
  touches.reads(args.from);
  touches.writes(args.to);
}

extern const StepKind border_stream_kind;
const StepKind border_stream_kind = kBorderStream;

}  // namespace rill::ops
