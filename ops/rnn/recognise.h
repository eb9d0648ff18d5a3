#pragma once

#include <span>
#include <vector>

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Return, by node, whether it belongs to a recurrent layer: a loop that computes a GRU, an LSTM or
/// a simple recurrent layer; a matmul or sum that only such loops read; or a product, sum or move
/// that only reads their results and constants. `loops`: by node, null if it is not a loop.
std::vector<bool> recurrent_layers(const Graph& graph, std::span<const Scan* const> loops);

/// Replace a node that is a `Scan` whose body computes a GRU, an LSTM or a plain recurrent layer,
/// recognised by its dataflow, by one op. Other loops stay unchanged.
Status fuse_recurrent(Rewrite& rewrite);

}  // namespace rill::ops
