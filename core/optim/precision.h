#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"

namespace rill {

/// Chains of a graph: what is computed in f32 where tensors are of f16 or bf16. A chain begins at
/// an operator that sums or grows (`Precision`), or that reads a constant which the narrow type
/// cannot hold. It goes on through the operators that follow, and rounds in front of those that
/// round.
struct Chains {
  std::vector<bool> nodes;         ///< by node: whether it belongs to a chain
  std::vector<std::string> notes;  ///< which nodes stay in f32 for which constants
};

/// Find the chains of a graph whose floats are of that narrow type, or are to become so.
Chains chains_of(const Graph& graph, DType narrow);

/// Compute the chains of a graph that was read in f32, between casts; all else stays as it is.
/// `modules`: those that it was read with. Without an operator that casts nothing changes.
/// `as_written`: the graph has the casts of its chains already, so that no chain is found.
Result<Graph> upcast_chains(Graph graph, std::span<const OpModule* const> modules,
                           bool as_written = false);

/// Which elements of a constant have to survive: weights may lose those that are small beside the
/// others.
enum class Fit : uint8_t { kEveryElement, kLargestElement };

/// Return whether a constant survives in a narrow type: nothing finite becomes infinite, and what
/// `fit` asks for keeps all bits of the type's precision.
bool fits(const Tensor& constant, DType narrow, Fit fit);

}  // namespace rill
