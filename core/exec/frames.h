#pragma once

#include <algorithm>

#include "core/dim/bound.h"
#include "core/exec/lowering.h"
#include "core/run/frames_so_far.h"
#include "core/tensor/row_major.h"

namespace rill {

/// Compile a number of frames for steps.
inline FramesSoFar frames_so_far(Lowering& lowering, const Dim& length) {
  const int64_t most = bound_of(length).value_or(kEndless);
  return {lowering.extent(length), std::min(most, kEndless)};
}

/// Make an output in memory that persists between pulses, in row-major order.
inline Operand kept_output(Lowering& lowering) {
  Operand kept = lowering.out_shape(0);
  const int64_t volume = lay_row_major(&kept);
  kept.ref = lowering.state(std::max<int64_t>(1, volume) * dtype_size(kept.dtype));
  return kept;
}

}  // namespace rill
