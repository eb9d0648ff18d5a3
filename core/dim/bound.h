#pragma once

#include <optional>

#include "core/dim/dim.h"

namespace rill {

/// Return an upper bound of an expression for all values of its symbols, such as 9 for min(9, S):
/// the least upper bound if it has one symbol and a known pattern. Nothing if it is unbounded.
std::optional<int64_t> bound_of(const Dim& length);

}  // namespace rill
