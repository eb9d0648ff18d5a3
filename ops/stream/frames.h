#pragma once

#include <algorithm>

#include "core/dim/bound.h"
#include "core/exec/lowering.h"
#include "core/run/frames_so_far.h"

namespace rill::ops {

/// What steps are to know of a count of frames.
inline FramesSoFar frames_so_far(Lowering& lowering, const Dim& length) {
  const int64_t most = bound_of(length).value_or(kEndless);
  return {lowering.extent(length), std::min(most, kEndless)};
}

}  // namespace rill::ops
