#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Return whether a wire of f32 holds whole numbers from 0 to 255 alone, and no NaN.
bool gives_whole_bytes(const Graph& graph, OutletId wire);

/// Mark a cast of a rounded value to 8 or 16 bits: only the limits of the type are then left to
/// apply.
Status fuse_whole_cast(Rewrite& rewrite);

}  // namespace rill::ops
