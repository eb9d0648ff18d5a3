#pragma once

#include <span>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// A rewriting of a whole graph for streams along a symbol. Null if this build has none of the
/// operators that it rewrites.
using Pass = Result<Graph> (*)(Graph graph, std::string_view symbol);

/// Return the passes that bring a graph into the form that is pulsed, in their order.
std::span<const Pass> passes();

}  // namespace rill::pulse
