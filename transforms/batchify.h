#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Give a model a batch of extent `symbol` as first axis of every input and output. Inputs named in
/// `shared` keep their shape, and are the same for all of the batch. An input that has an axis of
/// that extent elsewhere gets it moved to the front; where one has, inputs that begin with a single
/// one are taken for such whose batch was left out.
/// Errors: kUnsupported, naming the node, where an operator does not carry an extra first axis
/// through; kArg if a shared input is no input, or no output has the batch.
/// Source: tract, transform `batchify`.
Result<Graph> with_batch(const Graph& graph, std::string_view symbol,
                         std::span<const std::string> shared);

}  // namespace rill::transforms
