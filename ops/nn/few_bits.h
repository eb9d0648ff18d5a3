#pragma once

#include <optional>
#include <span>

#include "core/exec/lowering.h"
#include "kernels/matmul_packed/matmul_packed.h"

namespace rill::ops {

/// Return in which format of fewer bits the plan keeps these weights of the node: one that it was
/// asked for and that can hold them. Where it can't, the plan is told why.
std::optional<kernels::PackedFormat> few_bits_format(Lowering& lowering,
                                                     std::span<const TensorPtr> weights);

/// Find the product that reads these weights of the node, which are f32, as fewer bits: as the plan
/// was asked, or as f16 where that gives the same bits and pays (`f16_product`). Null: as f32.
const kernels::MatmulPacked* few_bits_product(Lowering& lowering, const TensorPtr& weights);

}  // namespace rill::ops
