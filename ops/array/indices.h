#pragma once

#include "core/graph/fact.h"
#include "ops/array/index_at.h"
#include "ops/array/walk.h"

namespace rill::ops {

/// Read an element of a view of integers or dims. A dim that is open reads as out of any range.
int64_t index_at(const View& indices, int64_t offset) RILL_NONBLOCKING;

/// Fail unless the fact is of integers and, if it is constant and the extent a number, every index
/// is in [-extent, extent).
Status check_indices(const Fact& indices, const Dim& extent);

}  // namespace rill::ops
