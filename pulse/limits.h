#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// What may not be negative, of the stream symbol alone: what is asserted, where slices of tables, by the
/// length of the stream, lie in them, and by how much lengths that must be equal differ.
std::vector<Dim> asserted_of(const Graph& graph, std::string_view symbol);

/// The longest stream for which none of these is negative; nothing if there is none.
std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative);

}  // namespace rill::pulse
