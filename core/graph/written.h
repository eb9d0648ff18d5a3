#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill {

/// Return a list of dims, each simplified by a scope.
TensorPtr simplified(const TensorPtr& dims, const SymbolScope& scope);

/// Return whether a value contains an expression in the symbol.
bool value_mentions(const TensorPtr& value, std::string_view symbol);

/// Return whether a node turns an expression in the symbol into data, rather than into the extent
/// of a wire.
bool reads_lengths(const Graph& graph, const Node& node, std::string_view symbol);

}  // namespace rill
