#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::ops {

/// Where the two positions lie in a wire of frames against frames: queries down the rows, keys along
/// the columns. -1 where the wire does not depend on that position.
struct Square {
  int row = -1;
  int column = -1;
  auto operator<=>(const Square&) const = default;
};

/// Tell where rows and columns lie in the inputs of a node, given where they lie in its output.
/// Nothing if the node does not keep them apart.
std::optional<std::vector<Square>> squares_of_inputs(const Graph& graph, const Node& node,
                                                     Square output, std::string_view symbol);

/// Tell whether an outlet depends on positions alone, and not on what any input holds.
bool is_positional(const Graph& graph, OutletId outlet);

/// The keys that a query sees: those from `first` to `last`, relative to its own position, which
/// depend on the position modulo `period`.
struct Band {
  int64_t period = 1;
  std::vector<int64_t> first;  ///< INT64_MIN: all that went before
  std::vector<int64_t> last;   ///< INT64_MAX: all that will follow
};

/// Find what the masks between scores and their use let through. `used`: the operand of the product
/// with the values. Without masks, all keys.
Band band_of(const Graph& graph, OutletId used, Square at, std::string_view symbol);

}  // namespace rill::ops
