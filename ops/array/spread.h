#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Replace a node of one input, a constant number that is repeated everywhere, by what it makes of
/// the number, repeated as well. The node works element by element, or only moves elements.
Status spread_constant(Rewrite& rewrite);

/// The value that all elements of an output of this node have.
Status replace_by_repeated(Rewrite& rewrite, const Tensor& number);

}  // namespace rill::ops
