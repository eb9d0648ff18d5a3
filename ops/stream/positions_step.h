#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

struct RowsArgs {
  PlacedView table;
  PlacedView to;
  int axis;
  int64_t begin;
};
RILL_STEP_FIELDS(RowsArgs, table, to, axis, begin)

struct RangeArgs {
  PlacedView to;
  int64_t start = 0;
  int64_t step = 1;
  int64_t frames = 1;
  int64_t before = 0;  ///< frames that precede the pulse, plus those of the delay
};
RILL_STEP_FIELDS(RangeArgs, to, start, step, frames, before)

/// Write start + step * n for the frames n >= `first`.
void count_frames(int64_t start, int64_t step, int64_t first, const View& to) RILL_NONBLOCKING;

void run_range(const RangeArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_range_stream(const RangeArgs& args, StepTouches& touches);

inline constexpr auto kRange = step_kind<RangeArgs, run_range, touch_range_stream>("range_stream");

void run_rows(const RowsArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_rows_stream(const RowsArgs& args, StepTouches& touches);

inline constexpr auto kRows = step_kind<RowsArgs, run_rows, touch_rows_stream>("rows_stream");

}  // namespace rill::ops
