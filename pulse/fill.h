#pragma once

#include "core/tensor/tensor.h"

namespace rill::pulse {

/// Tell whether two virtual first frames are the same; null stands for zeros.
bool same_fill(const TensorPtr& a, const TensorPtr& b);

/// Give a fill that holds one number only as a tensor of rank 0, zeros as null; other fills come
/// back as they are.
TensorPtr compact_fill(const TensorPtr& fill);

}  // namespace rill::pulse
