#pragma once

#include "core/graph/rewrite.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Replace a comparison of sizes and of positions, counted from 0, if its result is constant, as in
/// arange(S) < S. Drop a limit on one side if it changes nothing, such as S in arange(S) >= min(x,
/// S).
Status compare_places(BinaryKind kind, Rewrite& rewrite);

}  // namespace rill::ops
