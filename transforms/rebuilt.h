#pragma once

#include <string>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Return an input of the model as a node.
Node source_node(std::string name, const Fact& fact, int line = 0);

/// Rebuild a graph after edits of its nodes, inputs and outputs: sort the nodes, infer their facts
/// and drop unused ones. Nodes may precede their inputs, and their facts may be outdated or absent,
/// except those of sources.
/// Errors: those of the ops; kArg for a cycle.
Result<Graph> rebuilt(Graph edited);

}  // namespace rill::transforms
