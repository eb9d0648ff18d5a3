#pragma once

#include <span>
#include <vector>

#include "core/dim/dim.h"

namespace rill::ops {

/// Corresponding axes of two shapes of equal volume: the products of both ranges agree.
struct AxisGroup {
  int from_begin = 0;
  int from_end = 0;
  int to_begin = 0;
  int to_end = 0;
};

/// Split two shapes into the smallest groups, in order; axes that cannot be separated are one
/// group.
std::vector<AxisGroup> axis_groups(std::span<const Dim> from, std::span<const Dim> to);

}  // namespace rill::ops
