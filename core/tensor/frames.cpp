#include "core/tensor/frames.h"

namespace rill {

View frames_of(const View& view, int axis, int64_t first, int64_t count) {
  View part = view;
  part.shape[static_cast<size_t>(axis)] = count;
  part.data = static_cast<std::byte*>(view.data) + first * view.step(axis) * dtype_size(view.dtype);
  return part;
}

}  // namespace rill
