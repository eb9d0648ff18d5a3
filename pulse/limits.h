#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// What may not be negative so that slices of tables, by the length of the stream, lie within them.
std::vector<Dim> table_limits(const Graph& graph, std::string_view symbol);

/// The longest stream for which none of these is negative and all assertions on the symbol alone hold;
/// nothing if there is no such length.
std::optional<int64_t> longest_stream(const SymbolScope& scope, std::string_view symbol,
                                      const std::vector<Dim>& non_negative);

}  // namespace rill::pulse
