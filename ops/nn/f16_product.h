#pragma once

#include "core/tensor/tensor.h"
#include "kernels/matmul_packed/matmul_packed.h"

namespace rill::ops {

/// Find the matmul that reads these f32 weights as f16, with the same bits as results. Null unless
/// f16 holds every weight exactly (they were cast from f16), the CPU upcasts f16 to f32, and there
/// are at least 8192 weights: with fewer, f32 is faster.
const kernels::MatmulPacked* f16_product(const Tensor& weights);

}  // namespace rill::ops
