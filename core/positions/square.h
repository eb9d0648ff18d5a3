#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Where the two positions lie in a wire of frames against frames: queries down the rows, keys
/// along the columns; or their distances, in front of a relative shift. -1 where the wire does not
/// depend on that position.
struct Square {
  int row = -1;
  int column = -1;
  int distance = -1;
  auto operator<=>(const Square&) const = default;
};

/// Return the places of rows and columns in the inputs of a node, given their places in its output.
/// Nothing if the node mixes them.
std::optional<std::vector<Square>> squares_of_inputs(const Graph& graph, const Node& node,
                                                     Square output, std::string_view symbol);

}  // namespace rill
