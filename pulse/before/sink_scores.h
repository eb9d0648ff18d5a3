#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Write scores that are joined to those of the stream's keys as scores of keys before the
/// stream. The logits of learned attention sinks, softmax(cat([s, t], -1))[.., :-1] v, become keys
/// with zeros as their values. The order of the sums changes. A maximum over the keys that is
/// subtracted before a softmax is dropped, because the softmax subtracts it itself.
Result<Graph> joined_scores(Graph graph, std::string_view symbol);

}  // namespace rill::pulse
