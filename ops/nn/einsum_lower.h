#pragma once

#include <optional>

#include "core/exec/lowering.h"
#include "core/graph/rewrite.h"
#include "ops/nn/einsum.h"

namespace rill::ops {

/// Return whether the sum is a batched f32 matmul.
bool can_lower_einsum_f32(const EinSum& op, const Lowering& lowering);

/// Lower to the packed matmul. The columns are the axis that only the constant operand has, or the
/// right one if none is constant; rows and batches are all other output axes.
Status lower_einsum_f32(const EinSum& op, Lowering& lowering);

/// If the consumer adds a constant that varies only along the matmul's columns, and the matmul can
/// start from it, return the axis of the output and the values.
std::optional<std::pair<int64_t, Tensor>> column_bias(const EinSum& op, const Node& producer,
                                                      const Rewrite& consumer, int input);

}  // namespace rill::ops
