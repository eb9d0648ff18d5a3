#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::test {

/// Evaluate the graph as written, node by node, with no simplification, planning or choice of
/// kernels.
Result<std::vector<Tensor>> reference_run(const Graph& graph, const std::vector<Tensor>& inputs);

/// The greatest difference between two methods for an element. `relative` scales with the element.
/// `cancelled` scales with the largest element of the output, because a sum with cancelling terms
/// rounds like its terms.
struct Allowance {
  double relative = 0;
  double cancelled = 0;
};

/// Return the allowed difference between two methods for a graph; 0 if no operator rounds.
Allowance allowance(const Graph& graph, DType dtype);
/// Return the first difference of two tensors beyond `allowed`; empty if there is none.
std::string difference_within(const Tensor& found, const Tensor& expected, Allowance allowed);

}  // namespace rill::test
