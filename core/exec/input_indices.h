#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Return, for each input of a model, the range of its numbers if it holds indices: `Op::indices`
/// of the operators that read it, directly or through casts, moves and sums with constants, and
/// that outputs need in every run. The graph is not fused yet.
std::vector<std::optional<NumberRange>> input_indices(const Graph& graph);

}  // namespace rill
