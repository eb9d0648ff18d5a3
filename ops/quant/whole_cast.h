#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Return whether a wire of f32 holds whole numbers from 0 to 255 alone, and no NaN.
bool gives_whole_bytes(const Graph& graph, OutletId wire);

/// Mark a cast to 8 or 16 bits of what was rounded: nothing is left to do then but what the limits
/// of the type ask for.
Status fuse_whole_cast(Rewrite& rewrite);

}  // namespace rill::ops
