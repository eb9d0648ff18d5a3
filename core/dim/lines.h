#pragma once

#include "core/dim/dim.h"

namespace rill {

/// Prove that an expression is >= 0 for all values of its symbols, by linear bounds: x/4 lies
/// between (x-3)/4 and x/4 without rounding. The cost is linear in the size of the expression,
/// whereas `DimPattern` evaluates it over a period. False means unknown.
bool never_negative(const Dim& dim);

}  // namespace rill
