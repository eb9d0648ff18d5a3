#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/square.h"

namespace rill {

/// Return the axes of rows and columns in the inputs of a node, given those of its output. Nothing
/// if the node mixes them, or drops frames of an input.
std::optional<std::vector<Square>> squares_of_inputs(const Graph& graph, const Node& node,
                                                     Square output, std::string_view symbol);

}  // namespace rill
