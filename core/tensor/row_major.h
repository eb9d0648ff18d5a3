#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/checked.h"

namespace rill {

/// Set the strides of a view or placed view to row-major order, and return the volume. Products
/// that overflow become 0: an empty tensor may have such extents, and nothing uses its strides.
template <class V>
int64_t lay_row_major(V* view) {
  int64_t stride = 1;
  for (size_t axis = static_cast<size_t>(view->rank); axis-- > 0;) {
    view->stride[axis] = stride;
    stride = checked_mul(stride, view->shape[axis]).value_or(0);
  }
  return stride;
}

}  // namespace rill
