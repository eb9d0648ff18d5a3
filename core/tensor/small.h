#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace rill {

/// Allocate zeros of a shape that is known to be small. If memory runs out, fail like `operator
/// new`.
Tensor small_zeros(DType dtype, std::vector<int64_t> shape, QParams q = {});

}  // namespace rill
