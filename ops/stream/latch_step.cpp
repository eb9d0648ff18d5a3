#include "ops/stream/latch_step.h"

#include <algorithm>

namespace rill::ops {

void run_latch(const LatchArgs& args, const Frame& frame) noexcept {
  const int64_t pulse = args.from.extent(args.axis);
  const int64_t start = frame.clock->position(pulse);
  const int64_t from = std::max(start, args.first);
  const int64_t to = std::min(start + pulse, args.first + args.kept.extent(args.axis));
  if (from >= to) return;
  copy_plain(frames_of(frame.view(args.from), args.axis, from - start, to - from),
             frames_of(frame.view(args.kept), args.axis, from - args.first, to - from));
}

namespace {

void put(const View& piece, const View& to, int axis, int64_t at, int64_t start) {
  const int64_t from = std::max(start, at);
  const int64_t until = std::min(start + to.extent(axis), at + piece.extent(axis));
  if (from >= until) return;
  copy_plain(frames_of(piece, axis, from - at, until - from),
             frames_of(to, axis, from - start, until - from));
}

}  // namespace

void run_splice(const SpliceArgs& args, const Frame& frame) noexcept {
  const View to = frame.view(args.to);
  const int64_t start = frame.clock->position(to.extent(args.axis) - args.shown);
  if (args.has_prefix) put(frame.view(args.prefix), to, args.axis, args.begin, start);
  if (args.has_suffix) {
    put(frame.view(args.suffix), to, args.axis, args.end.now(frame), start);
  }
}

void touch_latch_stream(const LatchArgs& args, StepTouches& touches) {
  touches.has_axis(args.from, args.axis);
  touches.alike(args.from, args.kept, args.axis);
  touches.within(args.first, -kMostFrames, kMostFrames);
  touches.reads(args.from);
  touches.keeps(region(args.kept));
}

void touch_splice_stream(const SpliceArgs& args, StepTouches& touches) {
  touches.has_axis(args.to, args.axis);
  touches.within(args.begin, -kMostFrames, kMostFrames);
  if (!touches.holds()) return;
  touches.within(args.shown, 0, args.to.extent(args.axis));
  touches.writes(args.to);
  const auto put = [&](const PlacedView& piece) {
    touches.alike(piece, args.to, args.axis);
    touches.reads(piece);
  };
  if (args.has_prefix) put(args.prefix);
  if (args.has_suffix) put(args.suffix);
}

extern const StepKind latch_stream_kind;
extern const StepKind splice_stream_kind;
const StepKind latch_stream_kind = kLatch;
const StepKind splice_stream_kind = kSplice;

}  // namespace rill::ops
