#include "ops/array/cast_step.h"

#include "core/tensor/plain_cast.h"

namespace rill::ops {

void run_half_cast(const HalfCastArgs& args, const Frame& frame) noexcept {
  if (args.upcast) {
    args.casts->upcast(args.count, frame.ptr<const uint16_t>(args.x), frame.ptr<float>(args.y));
  } else {
    args.casts->downcast(args.count, frame.ptr<const float>(args.x), frame.ptr<uint16_t>(args.y));
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

void touch_cast_half(const HalfCastArgs& args, StepTouches& touches) {
  touches.require(args.casts != nullptr, "a kernel");
  const Region halves = region<uint16_t>(args.upcast ? args.x : args.y).over(args.count);
  const Region floats = region<float>(args.upcast ? args.y : args.x).over(args.count);
  touches.reads(args.upcast ? halves : floats);
  touches.writes(args.upcast ? floats : halves);
}

void touch_cast_bytes(const ByteCastArgs& args, StepTouches& touches) {
  const kernels::QuantiseArgs& rounding = args.rounding;
  const bool rounds = args.quantise != nullptr;
  touches.require(!rounds || rounding.has_size(), "whole numbers");
  if (rounds && touches.holds()) {
    touches.reads(region<float>(args.x).over(rounding.n));
    touches.writes(region<std::byte>(args.y)
                       .over(rounding.n, rounding.y_bytes)
                       .over(rounding.y_bytes)
                       .aligned(rounding.y_bytes));
    return;
  }
  touches.reads(region<uint8_t>(args.x).over(rounding.n));
  touches.reads(region<float>(args.table).over(256));
  touches.writes(region<float>(args.y).over(rounding.n));
}

void run_cast(const CastArgs& args, const Frame& frame) noexcept {
  cast_plain(frame.view(args.from), frame.view(args.to));
}

void touch_cast(const CastArgs& args, StepTouches& touches) {
  touches.require(is_plain(args.from.dtype) && is_plain(args.to.dtype), "numbers or bools");
  PlacedView to = args.to;
  to.dtype = args.from.dtype;
  touches.alike(args.from, to);
  if (!touches.holds()) return;
  touches.reads(args.from);
  touches.writes(args.to);
}

extern const StepKind cast_kind;
const StepKind cast_kind = kCast;
extern const StepKind cast_half_kind;
extern const StepKind cast_bytes_kind;
const StepKind cast_half_kind = kHalfCast;
const StepKind cast_bytes_kind = kByteCast;

}  // namespace rill::ops
