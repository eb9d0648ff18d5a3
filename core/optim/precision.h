#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"

namespace rill {

/// The chains of a graph: operators on f16 or bf16 tensors that compute in f32. A chain begins at
/// an operator that sums or grows (`Precision`), or that reads a constant out of range of the
/// narrow type. It continues through the next operators, and ends before an operator that rounds.
struct Chains {
  std::vector<bool> nodes;         ///< by node: whether it belongs to a chain
  std::vector<std::string> notes;  ///< which nodes stay in f32 because of which constants
};

/// Find the chains of a graph. `narrow`: f16 or bf16, the type that its floats have or are
/// converted to.
Chains chains_of(const Graph& graph, DType narrow);

/// Put the chains of a graph between casts to and from f32; all other nodes stay unchanged.
/// `modules`: the operator modules of the reader; if none has a cast operator, nothing changes.
/// `as_written`: the graph already contains the casts of its chains, so none are searched.
Result<Graph> upcast_chains(Graph graph, std::span<const OpModule* const> modules,
                           bool as_written = false);

/// Which elements of a constant must survive rounding. In weights, elements may be lost that are
/// small relative to the largest.
enum class Fit : uint8_t { kEveryElement, kLargestElement };

/// Return whether a constant survives a cast to a narrow type: no finite element becomes infinite,
/// and the elements that `fit` names keep the full precision of the type.
bool fits(const Tensor& constant, DType narrow, Fit fit);

}  // namespace rill
