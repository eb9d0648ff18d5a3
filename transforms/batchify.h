#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Add a batch of extent `symbol` to a model as first axis of every input and output. Inputs named
/// in `shared` keep their shape, and are the same for the whole batch. If an input has that extent
/// on another axis, the axis moves to the front; a leading unit axis of the other inputs is then
/// assumed to be their batch. Errors: kUnsupported, naming the node, if an operator cannot carry an
/// extra first axis; kArg if a shared name is not an input, or if no output has the batch.
/// Source: tract, transform `batchify`.
Result<Graph> with_batch(const Graph& graph, std::string_view symbol,
                         std::span<const std::string> shared);

}  // namespace rill::transforms
