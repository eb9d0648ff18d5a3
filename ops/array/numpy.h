#pragma once

#include "core/graph/nnef.h"

namespace rill::ops {

/// Put unit axes in front until the rank is reached.
Result<OutletId> with_rank(LoadCtx& ctx, OutletId wire, int rank);

/// Give all wires one type where one of them is of dims and the others are of integers.
Result<std::vector<OutletId>> dims_or_as_they_are(LoadCtx& ctx, std::vector<OutletId> wires);

/// Bring wires to one rank as NumPy does, with unit axes in front of the lower ones, and integers
/// to dims where one of them is of dims.
Result<std::vector<OutletId>> numpy_operands(LoadCtx& ctx, std::vector<OutletId> wires);

}  // namespace rill::ops
