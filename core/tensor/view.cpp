#include "core/tensor/view.h"

#include "core/tensor/strided_copy.h"

namespace rill {

bool View::contiguous() const {
  int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const auto axis = static_cast<size_t>(i);
    if (shape[axis] != 1 && stride[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

void copy_plain(const View& from, const View& to) {
  copy_strided(static_cast<int>(dtype_size(from.dtype)), from.rank, from.shape.data(), from.data,
               from.stride.data(), to.data, to.stride.data());
}

}  // namespace rill
