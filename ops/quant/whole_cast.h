#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Return whether all elements of an f32 wire are integers from 0 to 255.
bool gives_whole_bytes(const Graph& graph, OutletId wire);

/// Mark a cast of a rounded value to 8 or 16 bits, so that it only saturates.
Status fuse_whole_cast(Rewrite& rewrite);

}  // namespace rill::ops
