#pragma once

#include <string_view>

#include "core/dim/dim.h"
#include "core/run/extent.h"

namespace rill {

/// Write an expression of one symbol in the order in which plans work it out. One that is not
/// valid, or has more symbols, has no value. Errors: kUnsupported if it nests too deep.
Result<Extent> extent_of(const Dim& dim);

/// The expression of such an extent, by the name of the symbol.
Dim dim_of(const Extent& extent, std::string_view symbol);

}  // namespace rill
