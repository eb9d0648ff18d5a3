#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Move a broadcast of a number downstream of a node with one input: apply the node to the number,
/// and broadcast the result. The node must work elementwise, or only move elements.
Status spread_constant(Rewrite& rewrite);

/// Replace this node, with one output, by a broadcast of the number.
Status replace_by_repeated(Rewrite& rewrite, const Tensor& number);

}  // namespace rill::ops
