#pragma once

#include "core/graph/rewrite.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Replace a comparison of sizes and of places, counted from the beginning, by its result if that
/// is the same everywhere: arange(S) < S. Drop a limit on one side that changes nothing, such as S
/// in arange(S) >= min(x, S).
Status compare_places(BinaryKind kind, Rewrite& rewrite);

}  // namespace rill::ops
