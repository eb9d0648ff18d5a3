#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// The axes of the two positions in a wire of frames against frames: rows are queries, columns are
/// keys, or distances upstream of a relative shift. -1 if the wire does not depend on that
/// position.
struct Square {
  int row = -1;
  int column = -1;
  int distance = -1;
  auto operator<=>(const Square&) const = default;
};

/// Return the places of rows and columns in the inputs of a node, given their places in its output.
/// Nothing if the node mixes them, or drops frames of an input.
std::optional<std::vector<Square>> squares_of_inputs(const Graph& graph, const Node& node,
                                                     Square output, std::string_view symbol);

}  // namespace rill
