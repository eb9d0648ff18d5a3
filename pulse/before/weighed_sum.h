#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Replace sums over the stream whose weights are a softmax over it, as in attentive pooling, by
/// loops. They keep the greatest score so far, and the sums relative to it, so that the result is
/// known at the end. Sums of squared distances from a value that is known only at the end, such as
/// variances around a mean, become sums of the frames and of their squares. Both round differently
/// from a whole run.
Result<Graph> loops_of_weighed_sums(Graph graph, std::string_view symbol);

/// Return whether a node is such a sum.
bool is_weighed_sum(const Graph& graph, const Node& node, std::string_view symbol);

}  // namespace rill::pulse
