#pragma once

#include "core/graph/graph.h"

namespace rill::pulse {

/// Make pads of what is joined to frames by hand: constants of one value, the first frame in front
/// and the last one behind, each as often as it stands there. A window takes a pad into its
/// history, and a last frame that is repeated needs no end of the stream beforehand.
/// Frames stay as they are, bit for bit.
Result<Graph> pads_of_joins(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
