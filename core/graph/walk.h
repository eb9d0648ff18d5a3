#pragma once

#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Return whether `found(id)` holds for a node upstream of a wire, including the node of the wire.
/// The walk continues to the inputs of a node if `through(id)` holds. It visits each node once, in
/// an unspecified order.
template <class Found, class Through>
bool any_before(const Graph& graph, OutletId wire, const Found& found, const Through& through) {
  // The walk may be short even in a large graph, so its cost must depend on visited nodes only.
  std::unordered_set<int> seen{wire.node};
  std::vector<int> open{wire.node};
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (found(id)) return true;
    if (!through(id)) continue;
    for (const OutletId& input : graph.node(id).inputs) {
      if (seen.insert(input.node).second) open.push_back(input.node);
    }
  }
  return false;
}

template <class Found>
bool any_before(const Graph& graph, OutletId wire, const Found& found) {
  return any_before(graph, wire, found, [](int) { return true; });
}

/// Return the value of a constant; null for all other operators.
TensorPtr constant_of(const Op& op);

/// Return the fact of an input of the model; null for all other operators.
const Fact* source_of(const Op& op);

/// Return whether a wire depends only on positions and lengths, not on values of inputs.
bool is_positional(const Graph& graph, OutletId wire);

}  // namespace rill
