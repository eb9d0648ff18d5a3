#pragma once

#include "core/graph/rewrite.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Replace a comparison of sizes and of places counted from the beginning that gives the same
/// everywhere, as arange(S) < S does, by what it gives; and drop a limit on one side that changes
/// nothing, as S is in arange(S) >= min(x, S).
Status compare_places(BinaryKind kind, Rewrite& rewrite);

}  // namespace rill::ops
