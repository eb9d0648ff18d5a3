#include "ops/quant/byte_table_step.h"

namespace rill::ops {

void run_byte_table(const ByteTableArgs& args, const Frame& frame) noexcept {
  const auto* x = frame.ptr<const uint8_t>(args.x);
  const auto* table = frame.ptr<const uint8_t>(args.table);
  auto* y = frame.ptr<uint8_t>(args.y);
  for (int64_t i = 0; i < args.count; ++i) y[i] = table[x[i]];
}

void touch_byte_table(const ByteTableArgs& args, StepTouches& touches) {
  touches.reads(region<uint8_t>(args.x).over(args.count));
  touches.reads(region<uint8_t>(args.table).over(256));
  touches.writes(region<uint8_t>(args.y).over(args.count));
}

extern const StepKind byte_table_kind;
const StepKind byte_table_kind = kByteTable;

}  // namespace rill::ops
