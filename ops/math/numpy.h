#pragma once

#include "ops/array/numpy.h"
#include "ops/math/binary.h"

namespace rill::ops {

/// Combine two wires as NumPy does: of one type, the lower rank with unit axes in front.
Result<OutletId> numpy_binary(LoadCtx& ctx, BinaryKind kind, OutletId a, OutletId b,
                              std::string_view suffix = {});

}  // namespace rill::ops
