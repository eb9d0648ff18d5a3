#pragma once

#include <optional>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Join constant frames before the stream, as learned prompts are, to the inputs of attention
/// instead of further upstream: the operators in between, which work frame by frame, compute them
/// apart. A query then finds them as keys without delay. Nothing if there are no such frames.
/// `gathered`: a graph with `Attention`. `pads`: whether padding counts as such frames.
Result<std::optional<Graph>> join_front_late(const Graph& gathered, std::string_view symbol,
                                             bool pads);

}  // namespace rill::pulse
