#pragma once

#include <span>
#include <vector>

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Return which nodes are loops that compute a GRU, an LSTM or a simple recurrent layer; matmuls
/// and sums that only these read; and products, sums and moves that only read their results and
/// constants. `loops`: by node, null if it is not a loop.
std::vector<bool> recurrent_layers(const Graph& graph, std::span<const Scan* const> loops);

/// Replace a node that is a `Scan` whose body computes a GRU, an LSTM or a plain recurrent layer,
/// recognised by its dataflow, by one op. Other loops stay unchanged.
Status fuse_recurrent(Rewrite& rewrite);

}  // namespace rill::ops
