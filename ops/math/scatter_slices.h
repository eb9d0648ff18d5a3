#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Replace a `ScatterNd` whose indices are a range along each axis, as in `y[:, 1:, ::2] = u`, by a
/// concat of the updates with the data around them. Along an axis of symbolic extent, replace it by
/// a selection by position. Other nodes stay unchanged.
Status scatter_as_slices(Rewrite& rewrite);

}  // namespace rill::ops
