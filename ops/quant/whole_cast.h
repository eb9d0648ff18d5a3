#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Tell whether a wire of f32 holds whole numbers from 0 to 255 alone, and no NaN.
bool gives_whole_bytes(const Graph& graph, OutletId wire);

/// Mark a cast to bytes of what was rounded: nothing but the limits of the type is left to do then.
Status fuse_whole_cast(Rewrite& rewrite);

}  // namespace rill::ops
