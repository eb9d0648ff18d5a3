#pragma once

#include "kernels/half/half.h"
#include "kernels/int8/int8.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

/// A cast of contiguous elements between f16 and f32.
struct HalfCastArgs {
  const kernels::HalfCasts* casts = nullptr;
  int64_t count = 0;
  bool upcast = false;
  Ref x;
  Ref y;
};

RILL_STEP_FIELDS(HalfCastArgs, casts, count, upcast, x, y)

/// A cast of contiguous elements between f32 and quantised bytes.
struct ByteCastArgs {
  kernels::QuantiseFn quantise = nullptr;  ///< null: look the result up in `table`
  kernels::QuantiseArgs rounding;
  Ref x;
  Ref y;
  Ref table;
};

RILL_STEP_FIELDS(ByteCastArgs, quantise, rounding, x, y, table)

/// A cast between any plain types.
struct CastArgs {
  PlacedView from;
  PlacedView to;
};

RILL_STEP_FIELDS(CastArgs, from, to)

void run_half_cast(const HalfCastArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void run_byte_cast(const ByteCastArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void run_cast(const CastArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_cast_half(const HalfCastArgs& args, StepTouches& touches);
void touch_cast_bytes(const ByteCastArgs& args, StepTouches& touches);
void touch_cast(const CastArgs& args, StepTouches& touches);

inline constexpr auto kHalfCast =
    step_kind<HalfCastArgs, run_half_cast, touch_cast_half>("cast_half");
inline constexpr auto kByteCast =
    step_kind<ByteCastArgs, run_byte_cast, touch_cast_bytes>("cast_bytes");
inline constexpr auto kCast = step_kind<CastArgs, run_cast, touch_cast>("cast");

}  // namespace rill::ops
