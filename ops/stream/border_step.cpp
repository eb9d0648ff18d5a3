#include "ops/stream/border_step.h"

#include <algorithm>

namespace rill::ops {

namespace {

/// The frame of the stream that frame `at` of the unpadded stream shows.
int64_t source_of(const BorderStreamArgs& op, int64_t at, int64_t frames) {
  if (!op.reflect) return std::clamp<int64_t>(at, 0, std::max<int64_t>(frames, 1) - 1);
  return at < 0 ? -at : at < frames ? at : 2 * (frames - 1) - at;
}

}  // namespace

void run_border_stream(const BorderStreamArgs& args, const Frame& frame) noexcept {
  const View from = frame.view(args.from);
  const View to = frame.view(args.to);
  const int64_t start = frame.clock->position(args.pulse);
  const int64_t known = args.length.now(frame);
  // The frame that output frame 0 shows, and how far it is from a frame to its place.
  const int64_t first = start - args.shown - args.out_delay - args.before;
  const int64_t shift = args.delay - start + args.overlap;
  const int64_t count = to.extent(args.axis);
  const int64_t last_place = from.extent(args.axis) - 1;
  if (first >= 0 && first + count <= known && first + shift >= 0 &&
      first + count - 1 + shift <= last_place) {
    copy_plain(frames_of(from, args.axis, first + shift, count), to);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = source_of(args, first + i, known) + shift;
    // Outside of the padded stream any frame will do.
    copy_plain(frames_of(from, args.axis, std::clamp<int64_t>(place, 0, last_place), 1),
               frames_of(to, args.axis, i, 1));
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
  touches.require(args.to.extent(args.axis) - args.shown ==
                      args.from.extent(args.axis) - args.overlap,
                  "frames of a pulse behind those that are shown again");
  touches.require(args.from.extent(args.axis) > 0 || args.to.volume() == 0, "frames to show");
  touches.reads(args.from);
  touches.writes(args.to);
}

extern const StepKind border_stream_kind;
const StepKind border_stream_kind = kBorderStream;

}  // namespace rill::ops
