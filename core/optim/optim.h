#pragma once

#include "core/graph/graph.h"

namespace rill {

/// Simplify to a fixed point: every op's `declutter`, constants folded, equal nodes merged, unused
/// nodes dropped. Loop bodies are simplified by their ops.
/// Errors: those of ops whose facts turn out not to fit.
/// `rounds`: the most walks over the graph, to look at what is half done; -1: to the end.
Result<Graph> declutter(const Graph& graph, int64_t rounds = -1);

/// Make faster to a fixed point: every op's `fuse`. The result has ops that no file format knows.
Result<Graph> fuse(const Graph& graph, int64_t rounds = -1);

}  // namespace rill
