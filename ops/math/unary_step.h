#pragma once

#include "core/run/step_fields.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// An operand that is mapped element by element.
struct UnaryArgs {
  UnaryKind kind = UnaryKind::kNeg;
  float alpha = 0.0F;
  PlacedView x;
  PlacedView out;
};
RILL_STEP_FIELDS(UnaryArgs, kind, alpha, x, out)

/// Map numbers or bools; both views have one shape. Tests of numbers write bools, other kinds the
/// type of x.
void change_elements(UnaryKind kind, float alpha, const View& x, const View& out) RILL_NONBLOCKING;

void run_unary(const UnaryArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_unary(const UnaryArgs& args, StepTouches& touches);

inline constexpr auto kUnary = step_kind<UnaryArgs, run_unary, touch_unary>("unary");

}  // namespace rill::ops
