#pragma once

#include "core/dim/scope.h"
#include "ops/math/binary.h"

namespace rill::ops {

/// Combine two dims. Errors: kSymbol if symbols leave the result undecided, or on overflow.
Result<Dim> combine_dims(BinaryKind kind, const Dim& a, const Dim& b);
/// Decide a comparison for all values of the symbols that the scope allows. Errors: kSymbol.
Result<bool> compare_dims(const SymbolScope& scope, BinaryKind kind, const Dim& a, const Dim& b);

/// Apply a binary operation to views of dims; all views have one shape. Comparisons write bool.
Status combine_dim_views(const SymbolScope& scope, BinaryKind kind, const View& a, const View& b,
                         const View& out);

}  // namespace rill::ops
