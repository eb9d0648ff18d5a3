#pragma once

#include "core/graph/graph.h"

namespace rill::pulse {

/// Replace explicit joins by pads: constants of one value, and repeats of the first frame as prefix
/// or of the last one as suffix. A window absorbs a pad into its history, and repeating the last
/// frame needs no announced end. The frames keep their bits.
Result<Graph> pads_of_joins(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
