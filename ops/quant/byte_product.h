#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

/// Compute a product of integers that are bytes less their zero points, by constants that fit into
/// bytes likewise, as a product of bytes.
Status fuse_byte_sums(Rewrite& rewrite);

/// The same for a product in f32 of numbers that are rounded to bytes as floats.
Status fuse_whole_sums(Rewrite& rewrite);

/// Take a constant that is added to a product of integers into it.
Status fuse_byte_bias(Rewrite& rewrite);

/// Fuse a cast to bytes with the int8 GEMM upstream, and with the scaling of its sums.
Status fuse_byte_product(Rewrite& rewrite);

}  // namespace rill::ops
