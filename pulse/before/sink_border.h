#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Put frames that a pad repeats or mirrors around a stream there as late as may be: behind
/// operators that work frame by frame and on nothing else. A window that follows has them in its
/// history then, where they cost no delay.
Result<Graph> sink_borders(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
