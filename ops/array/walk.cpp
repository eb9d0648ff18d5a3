#include "ops/array/walk.h"

#include <algorithm>

namespace rill::ops {

Rows rows_of(std::span<const View> views, int64_t* steps) noexcept {
  Rows rows;
  const View& shape = views[0];
  bool first = true;
  for (rows.outer = shape.rank; rows.outer > 0; --rows.outer) {
    const auto i = static_cast<size_t>(rows.outer) - 1;
    if (shape.shape[i] == 1) continue;
    bool follows = true;
    for (size_t v = 0; v < views.size(); ++v) {
      if (first) steps[v] = views[v].stride[i];
      follows &= first || views[v].stride[i] == steps[v] * rows.count;
    }
    if (!follows) break;
    rows.count *= shape.shape[i];
    first = false;
  }
  return rows;
}

bool next_row(std::span<const View> views, const Rows& rows, std::array<int64_t, kMaxRank>* index,
              int64_t* at) noexcept {
  const View& shape = views[0];
  for (int axis = rows.outer - 1; axis >= 0; --axis) {
    const auto i = static_cast<size_t>(axis);
    for (size_t v = 0; v < views.size(); ++v) at[v] += views[v].stride[i];
    if (++(*index)[i] < shape.shape[i]) return true;
    for (size_t v = 0; v < views.size(); ++v) at[v] -= views[v].stride[i] * shape.shape[i];
    (*index)[i] = 0;
  }
  return false;
}

View without_axis(const View& view, int axis) {
  View out = view;
  std::copy(view.shape.begin() + axis + 1, view.shape.end(), out.shape.begin() + axis);
  std::copy(view.stride.begin() + axis + 1, view.stride.end(), out.stride.begin() + axis);
  --out.rank;
  return out;
}

}  // namespace rill::ops
