#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Absorb transpositions into upstream or downstream matmuls, across operators that work on any
/// order of the axes, and drop transpositions that cancel.
Result<Graph> with_moves_absorbed(const Graph& graph);

}  // namespace rill::transforms
