#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Give a model a batch of extent `symbol` as first axis of every input and output. Inputs named in
/// `shared` keep their shape, and are the same for the whole batch. An input with an axis of that
/// extent elsewhere gets it moved to the front; if there is one, inputs that begin with a unit axis
/// are assumed to have it in place of their batch. Errors: kUnsupported, naming the node, if an
/// operator does not carry an extra first axis through; kArg if a shared input is no input, or if
/// no output has the batch.
/// Source: tract, transform `batchify`.
Result<Graph> with_batch(const Graph& graph, std::string_view symbol,
                         std::span<const std::string> shared);

}  // namespace rill::transforms
