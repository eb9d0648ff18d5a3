#include "ops/stream/positions_step.h"

#include <algorithm>

#include "core/run/frames_so_far.h"

namespace rill::ops {

namespace {

void fill_missing(const View& view) {
  uint64_t bits = 0;
  if (view.dtype == DType::kF32) bits = 0x7FC00000U;
  if (view.dtype == DType::kF64) bits = 0x7FF8000000000000U;
  if (view.dtype == DType::kF16) bits = 0x7E00U;
  if (view.dtype == DType::kBF16) bits = 0x7FC0U;
  View from = view;
  from.data = &bits;
  from.stride.fill(0);
  copy_plain(from, view);
}

}  // namespace

void run_rows(const RowsArgs& args, const Frame& frame) noexcept {
  const View table = frame.view(args.table);
  const View to = frame.view(args.to);
  const int64_t count = to.extent(args.axis);
  const int64_t first = args.begin + frame.clock->position(count);
  const int64_t present = std::clamp<int64_t>(table.extent(args.axis) - first, 0, count);
  if (present > 0) {
    copy_plain(frames_of(table, args.axis, first, present), frames_of(to, args.axis, 0, present));
  }
  if (present < count) fill_missing(frames_of(to, args.axis, present, count - present));
}

void touch_rows_stream(const RowsArgs& args, StepTouches& touches) {
  touches.has_axis(args.to, args.axis);
  touches.alike(args.table, args.to, args.axis);
  touches.within(args.begin, 0, kMostFrames);
  touches.reads(args.table);
  touches.writes(args.to);
}

void count_frames(int64_t start, int64_t step, int64_t first, const View& to) {
  auto value = static_cast<uint64_t>(start) +
               static_cast<uint64_t>(step) * static_cast<uint64_t>(first);
  for (int64_t i = 0; i < to.extent(0); ++i, value += static_cast<uint64_t>(step)) {
    to.as<int64_t>()[i * to.step(0)] = static_cast<int64_t>(value);
  }
}

void run_range(const RangeArgs& args, const Frame& frame) noexcept {
  count_frames(args.start, args.step, frame.clock->position(args.frames) - args.before,
               frame.view(args.to));
}

void touch_range_stream(const RangeArgs& args, StepTouches& touches) {
  touches.require(args.to.rank == 1 && args.to.dtype == DType::kI64, "a row of numbers");
  touches.within(args.frames, 0, kMostFrames);
  touches.within(args.before, -kMostFrames, 2 * kMostFrames);
  if (!touches.holds()) return;
  touches.writes(args.to);
}

extern const StepKind range_stream_kind;
const StepKind range_stream_kind = kRange;
extern const StepKind rows_stream_kind;
const StepKind rows_stream_kind = kRows;

}  // namespace rill::ops
