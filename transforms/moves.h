#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Absorb moves of axes into the matmuls before or after them, through operators that work on any
/// order of the axes, and drop those that cancel out.
Result<Graph> with_moves_absorbed(const Graph& graph);

}  // namespace rill::transforms
