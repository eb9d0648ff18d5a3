#pragma once

#include "core/graph/rewrite.h"
#include "kernels/matmul_packed/matmul_packed.h"

namespace rill::ops {

/// Find the product that takes these weights as halves: if all of them are, as those are that were
/// cast from f16, if they are so many that reading them takes the time, and if the CPU widens halves.
/// Else null. The results are the same bits.
const kernels::MatmulPacked* halves_product(const Tensor& weights);

/// Compute a product of f16 as that of f32 between casts, which round only what that gives, as `eval`
/// does.
Status fuse_as_f32(const Op& op, Rewrite& rewrite);

}  // namespace rill::ops
