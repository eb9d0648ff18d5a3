#pragma once

#include "core/graph/nnef.h"

namespace rill::ops {

/// Read the argument "axis", counted from the start. Errors: those of the argument; kShape.
Result<int64_t> axis_argument(LoadCtx& ctx, int64_t rank);

}  // namespace rill::ops
