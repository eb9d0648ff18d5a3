#pragma once

#include "ops/math/formula.h"

namespace rill::ops {

/// Turn the first elements of each head by angles whose cosines and sines are given, in pairs.
/// Shapes: x [batch, frames, heads, size], cos and sin [batch or 1, frames or 1, 1, half] -> that
/// of x, whose first 2 * half elements are turned.
/// `interleaved`: pairs lie side by side, not `half` apart.
OutletId rotated(Formula& f, OutletId x, OutletId cos, OutletId sin, int64_t half,
                 bool interleaved);

}  // namespace rill::ops
