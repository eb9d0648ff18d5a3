#include "ops/stream/pulse_pad_step.h"

#include <algorithm>

namespace rill::ops {

namespace {

/// Return a view of one frame repeated `count` times.
View repeated(View frame, int axis, int64_t count) {
  const auto a = static_cast<size_t>(axis);
  frame.shape[a] = count;
  frame.stride[a] = 0;
  return frame;
}

}  // namespace

void run_pad_stream(const PadStreamArgs& args, const Frame& frame) noexcept {
  const View view = frame.view(args.view);
  const int axis = args.axis;
  const int64_t frames = view.extent(axis);
  const int64_t begin = frame.clock->position(frames - args.overlap);
  const bool known = frame.clock->end >= 0;
  const auto value_of = [&](const Extent& extent) {
    if (!known && !extent.is_const()) return kEndless;
    return frames_at(extent, frame, kEndless);
  };
  const int64_t end = value_of(args.end_input);
  const int64_t after = value_of(args.after);
  const bool edge = args.edge;
  View kept = frames_of(view, axis, 0, 1);
  kept.data = frame.ptr<void>(args.last_frame);
  if (edge && after != 0 && begin < end && frames > 0) {
    copy_plain(frames_of(view, axis, std::min(end - begin, frames) - 1, 1), kept);
  }
  if (begin >= args.begin_input && end - frames >= begin) return;
  View constant = frame.view(args.value);
  constant.rank = view.rank;
  constant.shape = view.shape;
  constant.stride.fill(0);
  const int64_t head = std::clamp<int64_t>(args.begin_input - begin, 0, frames);
  if (head > 0 && begin + frames > args.begin_input - args.before) {
    const View target = frames_of(view, axis, 0, head);
    if (edge && head < frames) {
      copy_plain(repeated(frames_of(view, axis, head, 1), axis, head), target);
    } else if (!edge) {
      constant.shape[static_cast<size_t>(axis)] = head;
      copy_plain(constant, target);
    }
  }
  if (begin + frames > end && after > 0 && end > -kEndless) {
    const int64_t tail = std::min(begin + frames - end, frames);
    const View target = frames_of(view, axis, frames - tail, tail);
    constant.shape[static_cast<size_t>(axis)] = tail;
    copy_plain(edge ? repeated(kept, axis, tail) : constant, target);
  }
}

void touch_pad_stream(const PadStreamArgs& args, StepTouches& touches) {
  touches.has_axis(args.view, args.axis);
  touches.require(args.value.volume() > 0 && args.value.dtype == args.view.dtype,
                  "a value to fill with");
  if (!touches.holds()) return;
  const int axis = args.axis;
  touches.reads(args.value);
  touches.within(args.overlap, 0, args.view.extent(axis));
  touches.within(args.begin_input, 0, kMostFrames);
  touches.within(args.before, 0, kMostFrames);
  touches.keeps(region(args.view));
  PlacedView frame = args.view;
  frame.shape[static_cast<size_t>(axis)] = std::min<int64_t>(1, args.view.extent(axis));
  frame.ref = args.last_frame;
  if (args.edge) touches.keeps(region(frame));
}

extern const StepKind pad_stream_kind;
const StepKind pad_stream_kind = kPadStream;

}  // namespace rill::ops
