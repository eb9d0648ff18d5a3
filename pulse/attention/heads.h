#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Separate masks that differ from head to head. Return graphs with the nodes and wires of `graph`;
/// each has the wires of some heads, and together they cover all heads. A constant of such a graph
/// holds one number, and a node that joins masks passes on one of them. Returns `graph` alone if no
/// mask differs, or if there are too many cases.
std::vector<Graph> heads_of(const Graph& graph, std::span<const OutletId> wires,
                            std::string_view symbol);

}  // namespace rill::pulse
