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

void run_rows(const RowsArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_rows_stream(const RowsArgs& args, StepTouches& touches);

inline constexpr auto kRows = step_kind<RowsArgs, run_rows, touch_rows_stream>("rows_stream");

}  // namespace rill::ops
