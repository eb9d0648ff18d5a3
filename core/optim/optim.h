#pragma once

#include "core/graph/graph.h"

namespace rill {

/// Simplify to a fixed point: apply every op's `declutter`, fold constants, merge equal nodes and
/// drop unused nodes. Ops simplify their loop bodies. Errors: those of ops whose inputs do not fit.
/// `rounds`: the maximum number of passes over the graph, to inspect intermediate results; -1: no
/// limit.
Result<Graph> declutter(const Graph& graph, int64_t rounds = -1);

/// Apply every op's `fuse` to a fixed point. The result has ops that no file format can express.
/// `few_bits`: the plan stores weights in fewer bits than f32.
Result<Graph> fuse(const Graph& graph, int64_t rounds = -1, bool few_bits = false);

}  // namespace rill
