#pragma once

#include <string_view>

#include "core/dim/dim.h"
#include "core/run/extent.h"

namespace rill {

/// Compile an expression in one symbol to postfix order. If it is invalid or has several symbols,
/// the result has no value. Errors: kUnsupported if it nests too deep.
Result<Extent> extent_of(const Dim& dim);

/// Return the expression of an extent; `symbol` is the name of its symbol.
Dim dim_of(const Extent& extent, std::string_view symbol);

}  // namespace rill
