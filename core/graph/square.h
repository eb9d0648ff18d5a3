#pragma once

#include <compare>

namespace rill {

/// The axes of a wire of frames against frames: queries along the rows, keys along the columns, or
/// their distances before a relative shift. -1 if the wire does not depend on that position.
struct Square {
  int row = -1;
  int column = -1;
  int distance = -1;
  auto operator<=>(const Square&) const = default;

  bool has(int axis) const {
    return axis >= 0 && (axis == row || axis == column || axis == distance);
  }
};

}  // namespace rill
