#pragma once

#include "core/graph/graph.h"

namespace rill {

/// Simplify to a fixed point: every op's `declutter`, constants folded, equal nodes merged, unused
/// nodes dropped. Ops simplify their loop bodies. Errors: those of ops whose facts turn out not to
/// fit. `rounds`: the most passes over the graph, to inspect intermediate results; -1: no limit.
Result<Graph> declutter(const Graph& graph, int64_t rounds = -1);

/// Make faster to a fixed point: every op's `fuse`. The result has ops that no file format knows.
/// `few_bits`: the plan stores weights in fewer bits than f32.
Result<Graph> fuse(const Graph& graph, int64_t rounds = -1, bool few_bits = false);

}  // namespace rill
