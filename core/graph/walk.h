#pragma once

#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Return whether `found(id)` holds for the start or for an id reached from it. `next(id, reach)`
/// calls `reach` for each neighbour of an id. The walk visits each id once, in no certain order.
template <class Found, class Next>
bool any_reached(int start, const Found& found, const Next& next) {
  // In a large graph the walk may be short, so its cost must depend on the visited ids only.
  std::unordered_set<int> seen{start};
  std::vector<int> open{start};
  const auto reach = [&](int id) {
    if (seen.insert(id).second) open.push_back(id);
  };
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (found(id)) return true;
    next(id, reach);
  }
  return false;
}

/// Return whether `found(id)` holds for a node upstream of a wire, the node of the wire included.
/// The walk continues to the inputs of a node if `through(id)` holds.
template <class Found, class Through>
bool any_before(const Graph& graph, OutletId wire, const Found& found, const Through& through) {
  return any_reached(wire.node, found, [&](int id, const auto& reach) {
    if (!through(id)) return;
    for (const OutletId& input : graph.node(id).inputs) reach(input.node);
  });
}

template <class Found>
bool any_before(const Graph& graph, OutletId wire, const Found& found) {
  return any_before(graph, wire, found, [](int) { return true; });
}

/// Visit the nodes upstream of a wire, the node of the wire included. The walk continues to the
/// inputs of a node if `visit(id)` holds.
template <class Visit>
void walk_before(const Graph& graph, OutletId wire, const Visit& visit) {
  any_before(graph, wire, [](int) { return false; }, visit);
}

/// Return the value of a constant; null for all other operators.
TensorPtr constant_of(const Op& op);

/// Return the fact of an input of the model; null for all other operators.
const Fact* source_of(const Op& op);

/// Return whether a wire depends only on positions and lengths, not on values of inputs.
bool is_positional(const Graph& graph, OutletId wire);

}  // namespace rill
