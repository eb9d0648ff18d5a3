#pragma once

#include <optional>

#include "core/dim/dim.h"

namespace rill {

/// Return a number that an expression does not exceed however large its symbols are, such as 9 of
/// min(9, S): the least one where there is one symbol and its pattern is known. Nothing if it grows
/// with them.
std::optional<int64_t> bound_of(const Dim& length);

}  // namespace rill
