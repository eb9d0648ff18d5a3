#pragma once

#include <cstdint>
#include <type_traits>

#include "core/tensor/view.h"
#include "core/tensor/visit_number.h"

namespace rill::ops {

/// Read an index from a view with an integer type.
inline int64_t plain_index_at(const View& indices, int64_t offset) {
  int64_t index = INT64_MIN;
  visit_number(indices.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      index = static_cast<int64_t>(indices.as<const T>()[offset]);
    }
  });
  return index;
}

/// Return an index in [0, extent), with negative indices counted from the end; -1 if it is out of
/// range.
inline int64_t wrapped_index(int64_t index, int64_t extent) {
  if (index < -extent) return -1;
  if (index < 0) index += extent;
  return index < extent ? index : -1;
}

}  // namespace rill::ops
