#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Replace a `ScatterNd` whose indices count along each axis for itself, as those of
/// `y[:, 1:, ::2] = u` do: join the updates to what lies around them, or select them by their
/// places along an axis of open extent. Leave other indices as they are.
Status scatter_as_slices(Rewrite& rewrite);

}  // namespace rill::ops
