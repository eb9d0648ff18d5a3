#pragma once

#include "core/run/step_fields.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Two operands that are combined element by element, broadcast to the shape of the output.
struct BinaryArgs {
  BinaryKind kind = BinaryKind::kAdd;
  PlacedView a;
  PlacedView b;
  PlacedView out;
};
RILL_STEP_FIELDS(BinaryArgs, kind, a, b, out)

/// Combine numbers or bools of one type and shape.
void combine_elements(BinaryKind kind, const View& a, const View& b,
                      const View& out) RILL_NONBLOCKING;

void run_binary(const BinaryArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_binary(const BinaryArgs& args, StepTouches& touches);

inline constexpr auto kBinary = step_kind<BinaryArgs, run_binary, touch_binary>("binary");

}  // namespace rill::ops
