#pragma once

#include "ops/array/numpy.h"
#include "ops/math/binary.h"

namespace rill::ops {

/// Combine two wires as NumPy does: promote to one type, and prepend unit axes to the one of lower
/// rank.
Result<OutletId> numpy_binary(LoadCtx& ctx, BinaryKind kind, OutletId a, OutletId b,
                              std::string_view suffix = {});

}  // namespace rill::ops
