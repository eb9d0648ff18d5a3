#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Fuse a cast to bytes, or to f32, with the upstream elementwise operations, up to a cast from
/// bytes, into a table of results for each byte. Does nothing if there are none, or if their
/// results have other readers. A table of f32 also absorbs its consumers.
Status fuse_byte_table(Rewrite& rewrite);

}  // namespace rill::ops
