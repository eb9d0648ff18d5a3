#pragma once

#include <span>
#include <vector>

#include "core/dim/dim.h"

namespace rill::ops {

/// Ranges of axes of two shapes with equal products.
struct AxisGroup {
  int from_begin = 0;
  int from_end = 0;
  int to_begin = 0;
  int to_end = 0;
};

/// Split two shapes of equal volume into the smallest groups, in order. Axes that cannot be
/// separated form one group.
std::vector<AxisGroup> axis_groups(std::span<const Dim> from, std::span<const Dim> to);

}  // namespace rill::ops
