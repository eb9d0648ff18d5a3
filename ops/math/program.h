#pragma once

#include <optional>

#include "kernels/pointwise/pointwise.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace rill::ops {

/// Return the kernel's operation for a kind; nothing if it has none.
std::optional<kernels::PointwiseOp> pointwise_op(BinaryKind kind) RILL_NONBLOCKING;
std::optional<kernels::PointwiseOp> pointwise_op(UnaryKind kind) RILL_NONBLOCKING;

}  // namespace rill::ops
