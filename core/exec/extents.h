#pragma once

#include <string_view>

#include "core/dim/dim.h"
#include "core/run/extent.h"

namespace rill {

/// Compile an expression in one symbol to postfix order. An expression that is invalid or has more
/// symbols gets no value. Errors: kUnsupported if it nests too deep.
Result<Extent> extent_of(const Dim& dim);

/// Return the expression of an extent, with this name for its symbol.
Dim dim_of(const Extent& extent, std::string_view symbol);

}  // namespace rill
