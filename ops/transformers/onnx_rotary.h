#pragma once

#include "ops/math/formula.h"

namespace rill::ops {

/// Rotate pairs of elements at the start of each head by angles, given as cosines and sines.
/// Shapes: x [batch, frames, heads, size], cos and sin [batch or 1, frames or 1, 1, half] -> the
/// shape of x. The first 2 * half elements of each head are rotated.
/// `interleaved`: the elements of a pair are adjacent, not `half` apart.
OutletId rotated(Formula& f, OutletId x, OutletId cos, OutletId sin, int64_t half,
                 bool interleaved);

}  // namespace rill::ops
