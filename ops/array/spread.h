#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Move a repeat after a node of one input: apply the node to the repeated number, and repeat its
/// result. The node must work element by element, or only move elements.
Status spread_constant(Rewrite& rewrite);

/// Return the value of all elements of an output of this node.
Status replace_by_repeated(Rewrite& rewrite, const Tensor& number);

}  // namespace rill::ops
