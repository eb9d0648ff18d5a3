#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill {

/// Return whether a value holds an expression in the symbol.
bool value_mentions(const TensorPtr& value, std::string_view symbol);

/// Return whether a node makes data of a number that is written with a symbol: of a length, once
/// the symbol is known, and not of the shape of anything.
bool reads_lengths(const Graph& graph, const Node& node, std::string_view symbol);

}  // namespace rill
