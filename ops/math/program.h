#pragma once

#include <optional>

#include "kernels/pointwise/pointwise.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace rill::ops {

/// The kernel's operation for one of ours; nothing if it has none.
std::optional<kernels::PointwiseOp> pointwise_op(BinaryKind kind) RILL_NONBLOCKING;
std::optional<kernels::PointwiseOp> pointwise_op(UnaryKind kind) RILL_NONBLOCKING;

}  // namespace rill::ops
