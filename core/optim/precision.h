#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"

namespace rill {

/// Chains of a graph: operators on f16 or bf16 tensors that compute in f32. A chain begins at an
/// operator that sums or grows (`Precision`), or that reads a constant beyond the narrow type. It
/// continues through the next operators, and ends before an operator that rounds.
struct Chains {
  std::vector<bool> nodes;         ///< by node: whether it belongs to a chain
  std::vector<std::string> notes;  ///< which nodes stay in f32 for which constants
};

/// Find the chains of a graph. `narrow`: f16 or bf16, the type that its floats have or will get.
Chains chains_of(const Graph& graph, DType narrow);

/// Put the chains of a graph between casts to and from f32; all other nodes stay unchanged.
/// `modules`: the operator modules of the reader. If they have no cast operator, nothing changes.
/// `as_written`: the graph already contains the casts of its chains, so find none.
Result<Graph> upcast_chains(Graph graph, std::span<const OpModule* const> modules,
                           bool as_written = false);

/// The elements of a constant that must survive rounding. Weights may lose elements that are
/// small relative to the largest.
enum class Fit : uint8_t { kEveryElement, kLargestElement };

/// Return whether a constant survives in a narrow type: no finite element becomes infinite, and the
/// elements of `fit` keep all bits of the type's precision.
bool fits(const Tensor& constant, DType narrow, Fit fit);

}  // namespace rill
