#pragma once

#include <span>
#include <vector>

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Return which nodes are loops that compute a GRU, an LSTM or a plain recurrent layer; products
/// and sums that only these read; and products, sums and moves of elements that only read results
/// of these and constants. `loops`: by node, null for one that is no loop.
std::vector<bool> recurrent_layers(const Graph& graph, std::span<const Scan* const> loops);

/// Replace a loop whose body computes a GRU, an LSTM or a plain recurrent layer, recognised by its
/// dataflow, by the op that runs it at once. Leaves other loops alone.
Status fuse_recurrent(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
