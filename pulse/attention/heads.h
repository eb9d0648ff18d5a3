#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Take masks that differ from head to head apart: graphs with the nodes and wires of `graph`, in
/// each of which the wires are what they are for some heads, and which together have all heads.
/// Constants hold one number each, and what joins masks passes one of them on. One graph, as it is,
/// where nothing differs, or where there are too many cases.
std::vector<Graph> heads_of(const Graph& graph, std::span<const OutletId> wires,
                            std::string_view symbol);

}  // namespace rill::pulse
