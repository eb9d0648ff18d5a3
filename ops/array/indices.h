#pragma once

#include "core/graph/fact.h"

namespace rill::ops {

/// Read an element of a view of integers or dims. A dim that is open reads as out of any range.
int64_t index_at(const View& indices, int64_t offset) RILL_NONBLOCKING;

/// Bring an index to [0, extent): negative ones count from the end. -1 if it is out of range.
inline int64_t wrapped_index(int64_t index, int64_t extent) {
  if (index < -extent) return -1;
  if (index < 0) index += extent;
  return index < extent ? index : -1;
}

/// Fail unless the fact is of integers; and, where it is a constant and the extent a number,
/// unless every index is in [-extent, extent).
Status check_indices(const Fact& indices, const Dim& extent);

/// The view without one axis: what lies at index 0 of it.
View without_axis(const View& view, int axis) RILL_NONBLOCKING;

}  // namespace rill::ops
