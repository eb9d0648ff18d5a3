#pragma once

#include <optional>
#include <span>

#include "core/exec/lowering.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul_packed/matmul_packed.h"

namespace rill::ops {

/// Return the requested quantized format if it can represent these weights of the node, and sums of
/// k products do not overflow. Otherwise report the reason to the plan.
std::optional<kernels::PackedFormat> few_bits_format(Lowering& lowering,
                                                     std::span<const TensorPtr> weights,
                                                     int64_t k);

/// Return the floats of a packed matrix [k, columns] in a plan, in whole cache lines: for
/// `few_bits`, or for `plain` if that is null.
int64_t packed_floats(const kernels::MatmulF32& plain, const kernels::MatmulPacked* few_bits,
                      int64_t k, int64_t columns);

/// Find the matmul that reads these f32 weights of the node in reduced precision: as requested for
/// the plan, or as f16 if that has the same bits and is faster (`f16_product`). Null: read f32, by
/// `plain`, also where the requested format takes no less memory. The weights of a product are
/// [k, columns].
const kernels::MatmulPacked* few_bits_product(Lowering& lowering, const kernels::MatmulF32& plain,
                                              const TensorPtr& weights, int64_t k,
                                              int64_t columns);

}  // namespace rill::ops
