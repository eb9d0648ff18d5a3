#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

struct ByteTableArgs {
  int64_t count = 0;
  Ref x;
  Ref table;
  Ref y;
};
RILL_STEP_FIELDS(ByteTableArgs, count, x, table, y)

void run_byte_table(const ByteTableArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_byte_table(const ByteTableArgs& args, StepTouches& touches);

inline constexpr auto kByteTable =
    step_kind<ByteTableArgs, run_byte_table, touch_byte_table>("byte_table");

}  // namespace rill::ops
