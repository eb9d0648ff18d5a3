#pragma once

#include <optional>

#include "core/graph/graph.h"

namespace rill::ops {

/// Express a wire of one element that is computed from dims alone as a dim: what comparisons leave
/// open becomes ge() and eq(), which are 1 or 0. Nothing if it depends on more than the symbols.
std::optional<Dim> symbolic_value(const Graph& graph, OutletId outlet);

}  // namespace rill::ops
