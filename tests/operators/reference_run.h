#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::test {

/// Evaluate node by node, as the graph was written: nothing simplified, planned or chosen.
Result<std::vector<Tensor>> reference_run(const Graph& graph, const std::vector<Tensor>& inputs);

/// The greatest difference between two ways to compute an element: `relative` of the element, and
/// `cancelled` of the output's largest element, since a sum whose terms cancel rounds like them.
struct Allowance {
  double relative = 0;
  double cancelled = 0;
};

/// Return how much two ways to compute a graph may differ: 0, if nothing rounds.
Allowance allowance(const Graph& graph, DType dtype);
/// Return what two tensors differ in, beyond what is allowed; empty if in nothing.
std::string difference_within(const Tensor& found, const Tensor& expected, Allowance allowed);

}  // namespace rill::test
