#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Move the stream before a batch that is merged with it: [B, S, F] -> [B*S, F] becomes [B, S, F]
/// -> [S, B, F] -> [S*B, F], so that the rows of a pulse are adjacent. Operators that treat all
/// rows alike work in any order. Where the rows are split again, or combined with another wire,
/// restore the old order. Layers over frequency within each frame need this.
Result<Graph> put_frames_first(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
