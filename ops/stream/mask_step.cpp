#include "ops/stream/mask_step.h"

#include <algorithm>

namespace rill::ops {

namespace {

/// Overwrites frames [first, last) of the view.
void fill_frames(const View& view, int axis, int64_t first, int64_t last,
                 const View& value) {
  if (first >= last) return;
  View part = view;
  const auto a = static_cast<size_t>(axis);
  part.shape[a] = last - first;
  part.data = static_cast<std::byte*>(view.data) + first * view.stride[a] * dtype_size(view.dtype);
  View from = value;
  for (size_t i = 0; i < static_cast<size_t>(part.rank); ++i) {
    if (from.rank != part.rank || from.shape[i] == 1) from.stride[i] = 0;
    from.shape[i] = part.shape[i];
  }
  from.rank = part.rank;
  copy_plain(from, part);
}

}  // namespace

void run_mask(const MaskArgs& args, const Frame& frame) noexcept {
  const int64_t first = frame.clock->position(args.pulse) - args.overlap;
  const int64_t count = args.overlap + args.pulse;
  const int64_t end = args.end.now(frame);
  // In the middle of the stream there is nothing to do.
  if (first >= args.begin && end - count >= first) return;
  const View view = frame.view(args.view);
  const View value = frame.view(args.value);
  fill_frames(view, args.axis, 0, std::clamp<int64_t>(args.begin - first, 0, count), value);
  const int64_t tail = end <= first ? 0 : std::min(end - first, count);
  fill_frames(view, args.axis, tail, count, value);
}

void touch_mask_stream(const MaskArgs& args, StepTouches& touches) {
  touches.has_axis(args.view, args.axis);
  touches.require(args.value.volume() > 0 && args.value.dtype == args.view.dtype,
                  "a value to fill with");
  touches.within(args.begin, -kMostFrames, kMostFrames);
  if (!touches.holds()) return;
  touches.within(args.overlap, 0, args.view.extent(args.axis));
  if (!touches.holds()) return;
  touches.within(args.pulse, 0, args.view.extent(args.axis) - args.overlap);
  const bool spread = args.value.rank != args.view.rank;
  for (int i = 0; i < args.view.rank && !spread; ++i) {
    const int64_t own = args.value.extent(i);
    touches.require(own == 1 || own >= args.view.extent(i), "a value for every element");
  }
  touches.reads(args.value);
  touches.writes(args.view);
}

extern const StepKind mask_stream_kind;
const StepKind mask_stream_kind = kMaskStream;

}  // namespace rill::ops
