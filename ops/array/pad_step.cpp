#include "ops/array/pad_step.h"

#include "core/tensor/strided_copy.h"

namespace rill::ops {

void run_fill(const FillArgs& args, const Frame& frame) noexcept {
  const PlacedView& to = args.to;
  fill_strided(static_cast<int>(dtype_size(to.dtype)), to.rank, to.shape.data(), &args.value,
               frame.ptr<void>(to.ref), to.stride.data());
}

namespace {

/// Return a view of frames of an axis, every `by`-th from `first`; `first` may be past the ends.
View frames_at(View box, size_t axis, int64_t first, int64_t frames, int64_t by = 1) {
  box.data =
      static_cast<std::byte*>(box.data) + first * box.stride[axis] * dtype_size(box.dtype);
  box.shape[axis] = frames;
  box.stride[axis] *= by;
  return box;
}

}  // namespace

void run_border(const BorderArgs& args, const Frame& frame) noexcept {
  const View out = frame.view(args.out);
  View box = out;
  for (size_t i = 0; i < args.pads.size(); ++i) {
    const auto [before, after] = args.pads[i];
    box.shape[i] -= before + after;
    box.data = static_cast<std::byte*>(box.data) + before * box.stride[i] * dtype_size(box.dtype);
  }
  const int64_t by = args.reflect ? -1 : 0;
  for (size_t axis = 0; axis < args.pads.size(); ++axis) {
    const auto [before, after] = args.pads[axis];
    const int64_t frames = box.shape[axis];
    if (before > 0) {
      copy_plain(frames_at(box, axis, args.reflect ? before : 0, before, by),
                 frames_at(box, axis, -before, before));
    }
    if (after > 0) {
      copy_plain(frames_at(box, axis, frames - (args.reflect ? 2 : 1), after, by),
                 frames_at(box, axis, frames, after));
    }
    box = frames_at(box, axis, -before, out.shape[axis]);
  }
}

void touch_fill(const FillArgs& args, StepTouches& touches) {
  touches.require(args.to.rank <= kCopyMaxRank && dtype_size(args.to.dtype) <= 8,
                  "a fill of at most 8 axes and 8 bytes an element");
  touches.writes(args.to);
}

void touch_border(const BorderArgs& args, StepTouches& touches) {
  touches.require(static_cast<int>(args.pads.size()) <= args.out.rank, "axes of the padded tensor");
  for (size_t i = 0; i < args.pads.size() && touches.holds(); ++i) {
    const auto [before, after] = args.pads[i];
    const int64_t extent = args.out.shape[i];
    touches.within(before, 0, extent);
    touches.within(after, 0, extent);
    if (before <= 0 && after <= 0) continue;
    const int64_t inner = extent - before - after;
    const int64_t reach = args.reflect ? std::max(before, after) : 0;
    touches.require(inner > reach || args.out.volume() == 0, "frames to fill a border with");
  }
  touches.keeps(region(args.out));
}

extern const StepKind fill_kind;
extern const StepKind border_kind;
const StepKind fill_kind = kFill;
const StepKind border_kind = kBorder;

}  // namespace rill::ops
