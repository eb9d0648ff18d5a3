#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Take a cast to bytes, or to f32, together with the elementwise operations in front of it, down
/// to a cast from bytes, as a table of what each byte becomes. Nothing happens where there are
/// none, or where others read what lies between. A table of f32 takes in what follows it.
Status fuse_byte_table(Rewrite& rewrite);

}  // namespace rill::ops
