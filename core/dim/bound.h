#pragma once

#include <optional>

#include "core/dim/dim.h"

namespace rill {

/// Tell the number that a length does not exceed however large its symbols are, such as 9 of min(9,
/// S); nothing if it grows with them. Lengths do not shrink as streams grow.
std::optional<int64_t> bound_of(const Dim& length);

}  // namespace rill
