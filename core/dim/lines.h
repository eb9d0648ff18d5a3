#pragma once

#include "core/dim/dim.h"

namespace rill {

/// Prove that an expression is at least 0 for all values of its symbols, by bounds that are linear
/// in them: x/4 lies between (x-3)/4 and x/4 without rounding. This costs as much as reading the
/// expression, where `DimPattern` evaluates it over a period. False means unknown.
bool never_negative(const Dim& dim);

}  // namespace rill
