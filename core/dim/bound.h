#pragma once

#include <optional>

#include "core/dim/dim.h"

namespace rill {

/// Return an upper bound of an expression over all values of its symbols, such as 9 for min(9, S).
/// It is the least upper bound if there is one symbol and a known pattern. Nothing if the
/// expression is unbounded.
std::optional<int64_t> bound_of(const Dim& length);

}  // namespace rill
