#pragma once

#include "core/graph/nnef.h"

namespace rill::ops {

/// Prepend unit axes up to the given rank.
Result<OutletId> with_rank(LoadCtx& ctx, OutletId wire, int rank);

/// Cast all wires to dims if they mix dims and integers.
Result<std::vector<OutletId>> as_dims_if_any(LoadCtx& ctx, std::vector<OutletId> wires);

/// Align the ranks of wires as NumPy does, by prepending unit axes. Cast integers to dims if a wire
/// has dims.
Result<std::vector<OutletId>> numpy_operands(LoadCtx& ctx, std::vector<OutletId> wires);

}  // namespace rill::ops
