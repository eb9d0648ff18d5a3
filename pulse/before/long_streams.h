#pragma once

#include <optional>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Write attributes as what is asserted decides them, as min(1, S) is by S >= 1, and facts with
/// them.
/// Errors: those of `Op::infer`.
Result<Graph> decided_choices(Graph graph, std::string_view symbol);

/// Assert that streams are so long that what attributes take from a short one is decided, as
/// min(1000, S) is by S >= 1000: the first thousand frames are latched then, and the last three
/// have a place. Gives a graph with that assertion and without such bounds; nothing where there is
/// none.
/// Errors: those of `Op::infer`.
Result<std::optional<Graph>> of_long_streams(const Graph& graph, std::string_view symbol);

/// Assert that streams have no more frames than tables of positions have rows for them, as S <= 64
/// where a file takes rows min(127, 63 + S) of 127. Gives a graph with these assertions; nothing
/// where there are none to make.
std::optional<Graph> of_streams_within_tables(const Graph& graph, std::string_view symbol);

}  // namespace rill::pulse
