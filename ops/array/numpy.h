#pragma once

#include "core/graph/nnef.h"

namespace rill::ops {

/// Prepend unit axes up to a rank.
Result<OutletId> with_rank(LoadCtx& ctx, OutletId wire, int rank);

/// Convert all wires to one type if some are dims and the others integers.
Result<std::vector<OutletId>> as_dims_if_any(LoadCtx& ctx, std::vector<OutletId> wires);

/// Align the ranks of wires as NumPy does, by prepending unit axes, and convert integers to dims if
/// one wire has dims.
Result<std::vector<OutletId>> numpy_operands(LoadCtx& ctx, std::vector<OutletId> wires);

}  // namespace rill::ops
