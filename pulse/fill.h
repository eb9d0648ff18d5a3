#pragma once

#include <span>

#include "core/graph/op.h"

namespace rill::pulse {

/// Return whether two virtual first frames are the same; null stands for zeros.
bool same_fill(const TensorPtr& a, const TensorPtr& b);

/// Give a fill that holds one number only as a tensor of rank 0, zeros as null; other fills come
/// back as they are.
TensorPtr compact_fill(const TensorPtr& fill);

/// Make `count` frames of a wire of the pulsed graph that are all the virtual first one, zeros if
/// that is null. Other symbolic extents, of the batch, become 1: fills do not depend on them.
Result<TensorPtr> frames_of_fill(const Fact& pulsed, int axis, int64_t count,
                                 const TensorPtr& fill);

/// Compute output i of an op on these values, by the kernels that a plan chooses: `eval` may round
/// otherwise. `streams`: which values are no constants to the op.
Result<Tensor> run_alone(const OpPtr& op, std::span<const TensorPtr> values,
                         std::span<const char> streams, int i);

}  // namespace rill::pulse
