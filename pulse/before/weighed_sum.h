#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Put loops in the place of sums over the stream whose weights are a softmax over it, as attentive
/// pooling has them: they keep the greatest score so far, and the sums relative to it, so that the
/// result is known at the end. Sums of squared distances from a value that is known at the end
/// only, as variances around a mean, are made of the sums of the frames and of their squares. Sums
/// of powers relative to such a value, as those of log(sum(exp(x))), are kept relative to the
/// greatest exponent so far. All round otherwise than a whole run.
Result<Graph> loops_of_weighed_sums(Graph graph, std::string_view symbol);

/// Return whether a node is such a sum.
bool is_weighed_sum(const Graph& graph, const Node& node, std::string_view symbol);

}  // namespace rill::pulse
