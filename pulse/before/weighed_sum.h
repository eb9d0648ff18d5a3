#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Replace softmax-weighted sums over the stream, as in attentive pooling, by loops. A loop keeps
/// the greatest score so far and the sums relative to it, so that the result is known at the end.
/// Some sums are of squared distances from a value known only at the end, such as variances around
/// a mean. They are computed from the sums of the frames and of their squares. Sums of exponentials
/// relative to such a value, as in log(sum(exp(x))), are kept relative to the greatest exponent so
/// far. All of these round differently from a whole run.
Result<Graph> loops_of_weighed_sums(Graph graph, std::string_view symbol);

/// Return whether a node is a sum that `loops_of_weighed_sums` replaces.
bool is_weighed_sum(const Graph& graph, const Node& node, std::string_view symbol);

}  // namespace rill::pulse
