#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Take moves of axes into the products that they stand before or behind, through operators that
/// work on any order of the axes, and drop those that cancel out.
Result<Graph> with_moves_absorbed(const Graph& graph);

}  // namespace rill::transforms
