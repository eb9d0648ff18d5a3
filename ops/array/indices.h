#pragma once

#include <optional>

#include "core/graph/op.h"
#include "ops/array/index_at.h"
#include "ops/array/walk.h"

namespace rill::ops {

/// Read an element of a view of integers or dims. A symbolic dim counts as out of range.
int64_t index_at(const View& indices, int64_t offset) RILL_NONBLOCKING;

/// Append the expressions that must be 0 or more for symbolic indices to lie in [-extent, extent).
void demand_indices(const Fact& indices, const Dim& extent, std::vector<Dim>* non_negative);

/// Return the range of valid indices of an axis: [-extent, extent). Nothing for a symbolic extent.
std::optional<NumberRange> indices_of(const Dim& extent);

/// Return the range of indices that are valid for the longest of `count` axes.
std::optional<NumberRange> indices_of_axes(const Fact& data, int64_t first, int64_t count);

/// Fail if an index is symbolic: its element is known only once the symbol is bound.
Status known_indices(const View& indices) RILL_NONBLOCKING;

/// Fail unless the fact has an integer type, and, if it is constant and the extent is known, every
/// index is in [-extent, extent).
Status check_indices(const Fact& indices, const Dim& extent);

}  // namespace rill::ops
