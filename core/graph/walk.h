#pragma once

#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Tell whether `found(id)` holds for a node that a wire is made by: its own, those of this one's
/// inputs and so on. The walk goes on to the inputs of a node where `through(id)` holds; it asks
/// each node once, in no order that counts.
template <class Found, class Through>
bool any_before(const Graph& graph, OutletId wire, const Found& found, const Through& through) {
  std::vector<char> seen(graph.nodes.size(), 0);
  std::vector<int> open{wire.node};
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (std::exchange(seen[static_cast<size_t>(id)], 1)) continue;
    if (found(id)) return true;
    if (!through(id)) continue;
    for (const OutletId& input : graph.node(id).inputs) open.push_back(input.node);
  }
  return false;
}

template <class Found>
bool any_before(const Graph& graph, OutletId wire, const Found& found) {
  return any_before(graph, wire, found, [](int) { return true; });
}

}  // namespace rill
