#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

struct LengthArgs {
  List<Extent> extents;
  Ref to;
};
RILL_STEP_FIELDS(LengthArgs, extents, to)

void run_length(const LengthArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_length_stream(const LengthArgs& args, StepTouches& touches);

inline constexpr auto kLength =
    step_kind<LengthArgs, run_length, touch_length_stream>("length_stream");

}  // namespace rill::ops
