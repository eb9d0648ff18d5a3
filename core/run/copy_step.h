#pragma once

#include "core/run/step_fields.h"

namespace rill {

/// A copy between two views of one shape.
struct CopyArgs {
  PlacedView from;
  PlacedView to;
  int64_t units = 1;
};

RILL_STEP_FIELDS(CopyArgs, from, to, units)

/// Copy a share; the units are slices of the outermost axis.
void run_copy(const CopyArgs& args, const Frame& frame,
              const Share& share) noexcept RILL_NONBLOCKING;
void touch_copy(const CopyArgs& args, StepTouches& touches);

inline constexpr auto kCopy = step_kind<CopyArgs, run_copy, touch_copy>("copy");

}  // namespace rill
