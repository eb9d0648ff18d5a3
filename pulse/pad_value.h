#pragma once

#include <span>

#include "core/graph/op.h"

namespace rill::pulse {

/// Return whether two virtual first frames are the same; null stands for zeros.
bool same_pad_value(const TensorPtr& a, const TensorPtr& b);

/// Compact a pad value: zeros become null, a uniform value becomes a tensor of rank 0. Return other
/// pad values unchanged.
TensorPtr compact_pad_value(const TensorPtr& pad_value);

/// Make `count` copies of the virtual first frame of a wire of the pulsed graph; zeros if it is
/// null. Other symbolic extents, such as the batch, become 1: pad values do not depend on them.
Result<TensorPtr> frames_of_pad_value(const Fact& pulsed, int axis, int64_t count,
                                      const TensorPtr& pad_value);

/// Compute output i of an op on these values with the kernels of a plan, because `eval` may round
/// differently. `streams`: the values that are not constants for the op.
Result<Tensor> run_alone(const OpPtr& op, std::span<const TensorPtr> values,
                         std::span<const char> streams, int i);

}  // namespace rill::pulse
