#pragma once

#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// List expressions of the stream symbol alone that a stream's length must not make negative. They
/// come from assertions, from slices of tables that must lie inside their table, from pairs of
/// lengths that must be equal, and from streams shorter than a window that frames are added behind,
/// of which a whole run has other frames than the stream counts.
std::vector<Dim> asserted_of(const Graph& graph, std::string_view symbol);

/// The longest stream for which none of these is negative; nothing if there is none.
std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative);

}  // namespace rill::pulse
