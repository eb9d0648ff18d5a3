#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::ops {
class Pad;
}

namespace rill::pulse {

/// Return the operator of a node that pads; null for all others.
const ops::Pad* pad_of(const Node& node);

/// Move padding that repeats or mirrors frames as far downstream as possible: after operators that
/// work frame by frame. A downstream window then finds these frames in its history, where they cost
/// no delay.
Result<Graph> sink_edge_padding(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
