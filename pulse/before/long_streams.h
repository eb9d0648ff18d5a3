#pragma once

#include <optional>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Simplify attributes and facts that assertions decide, such as min(1, S) given S >= 1. Errors:
/// those of `Op::infer`.
Result<Graph> decided_choices(Graph graph, std::string_view symbol);

/// Assert that streams are long enough to decide attributes that differ for short ones: S >= 1000
/// decides min(1000, S). A slice of the first thousand frames can then stream, and so can one of
/// the last three. Return a graph with that assertion and these attributes decided; nothing if
/// there are none. Errors: those of `Op::infer`.
Result<std::optional<Graph>> of_long_streams(const Graph& graph, std::string_view symbol);

/// Assert that streams are no longer than their tables of positions: S <= 64 if a file slices rows
/// up to min(127, 63 + S) of a table with 127. Return a graph with these assertions; nothing if
/// there are none.
std::optional<Graph> of_streams_within_tables(const Graph& graph, std::string_view symbol);

}  // namespace rill::pulse
