#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Bring the stream in front of a batch that is merged with it: [B, S, F] -> [B*S, F] becomes
/// [B, S, F] -> [S, B, F] -> [S*B, F], so that the rows of a pulse lie side by side. Operators that
/// do the same to every row do not care for their order; where the rows are split again, or meet
/// anything else, the old order is put back. Layers over frequency inside of each frame do so.
Result<Graph> put_frames_first(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
