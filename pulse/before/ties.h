#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Replace symbols by their value in the stream symbol, from assertions: R by S/4 if S == 4*R.
Result<Graph> with_ties(Graph graph, std::string_view symbol);

/// Assert that a stream has at least one frame: results for fewer frames do not matter. Numbers
/// that this decides, such as min(S + 3, 4), become constants, which operators may absorb.
Result<Graph> with_frames(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
