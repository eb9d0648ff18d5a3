#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::test {

/// Evaluate node by node, as the graph was written: nothing simplified, planned or chosen.
Result<std::vector<Tensor>> plain_run(const Graph& graph, const std::vector<Tensor>& inputs);

/// How far one way of computing an element may be from another: by `relative` of the element, and
/// by `cancelled` of the output's largest element, as a sum whose terms cancel rounds as they do.
struct Allowance {
  double relative = 0;
  double cancelled = 0;
};

/// What two ways of computing a graph may differ by: nothing, where nothing rounds.
Allowance allowance(const Graph& graph, DType dtype);
/// Return what two tensors differ in, beyond what is allowed; empty if in nothing.
std::string difference_within(const Tensor& found, const Tensor& expected, Allowance allowed);

}  // namespace rill::test
