#include "ops/array/cast_step.h"

namespace rill::ops {

void run_half_cast(const HalfCastArgs& args, const Frame& frame) noexcept {
  if (args.widen) {
    args.casts->widen(args.count, frame.ptr<const uint16_t>(args.x), frame.ptr<float>(args.y));
  } else {
    args.casts->narrow(args.count, frame.ptr<const float>(args.x), frame.ptr<uint16_t>(args.y));
  }
}

void run_byte_cast(const ByteCastArgs& args, const Frame& frame) noexcept {
  if (args.quantise != nullptr) {
    kernels::QuantiseArgs rounding = args.rounding;
    rounding.floats = frame.ptr<const float>(args.x);
    rounding.y = frame.ptr<void>(args.y);
    return args.quantise(rounding);
  }
  const auto* x = frame.ptr<const uint8_t>(args.x);
  const auto* table = frame.ptr<const float>(args.table);
  auto* y = frame.ptr<float>(args.y);
  for (int64_t i = 0; i < args.rounding.n; ++i) y[i] = table[x[i]];
}

extern const StepKind cast_half_kind;
extern const StepKind cast_bytes_kind;
const StepKind cast_half_kind = kHalfCast;
const StepKind cast_bytes_kind = kByteCast;

}  // namespace rill::ops
