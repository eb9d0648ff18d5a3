#pragma once

#include "core/tensor/tensor.h"
#include "kernels/matmul_packed/matmul_packed.h"

namespace rill::ops {

/// Find the product that reads these f32 weights as f16, with the same bits as results. Null unless
/// f16 holds every one of them exactly (they were cast from f16), they number 8192 or more, so that
/// reading them takes longer than upcasting them, and the CPU upcasts f16 to f32.
const kernels::MatmulPacked* f16_product(const Tensor& weights);

}  // namespace rill::ops
