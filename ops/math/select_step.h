#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

/// A selection between two operands by a condition, all broadcast to the shape of the output.
struct SelectArgs {
  PlacedView condition;
  PlacedView a;
  PlacedView b;
  PlacedView out;
};
RILL_STEP_FIELDS(SelectArgs, condition, a, b, out)

/// Choose between elements of one plain type and one shape.
void select_elements(const View& condition, const View& a, const View& b,
                     const View& out) RILL_NONBLOCKING;

void run_select(const SelectArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_select(const SelectArgs& args, StepTouches& touches);

inline constexpr auto kSelect = step_kind<SelectArgs, run_select, touch_select>("select");

}  // namespace rill::ops
