#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::ops {

/// Keep axes apart that are merged in front of a product and split behind it, where one of them
/// streams behind another: [20, S, 16] -> [20*S, 16] -> product -> [20, S, 16]. Products and
/// elementwise operators do not care, and frames of a pulse do not lie side by side when merged.
/// PyTorch's attention does so around its last layer, for whatever lies on its batch axis.
Result<Graph> keep_apart(const Graph& graph, std::string_view symbol);

}  // namespace rill::ops
