#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Replace an integer matmul by an int8 matmul if it multiplies bytes minus their zero points by
/// constants that also fit in bytes.
Status fuse_byte_sums(Rewrite& rewrite);

/// As above, for an f32 matmul of numbers that were rounded to bytes as floats.
Status fuse_whole_sums(Rewrite& rewrite);

/// Absorb a constant that is added to an int8 matmul.
Status fuse_byte_bias(Rewrite& rewrite);

/// Fuse a cast to bytes with the int8 GEMM upstream, and with the scaling of its sums.
Status fuse_byte_product(Rewrite& rewrite);

}  // namespace rill::ops
