#pragma once

#include <optional>
#include <span>

#include "core/exec/lowering.h"
#include "kernels/matmul_packed/matmul_packed.h"

namespace rill::ops {

/// Return the requested quantized format if it can represent these weights of the node, and sums of
/// k products do not overflow. Otherwise report the reason to the plan.
std::optional<kernels::PackedFormat> few_bits_format(Lowering& lowering,
                                                     std::span<const TensorPtr> weights,
                                                     int64_t k);

/// Find the matmul that reads these f32 weights of the node in reduced precision: as requested for
/// the plan, or as f16 if that has the same bits and is faster (`f16_product`). Null: read f32. The
/// weights of a product are [k, columns].
const kernels::MatmulPacked* few_bits_product(Lowering& lowering, const TensorPtr& weights,
                                              int64_t k, int64_t columns);

}  // namespace rill::ops
