#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/run/share.h"
#include "core/run/step_fields.h"

namespace rill::ops {

/// Loops over axes of two operands, outermost first. Axes that are contiguous in both are merged.
struct Nest {
  int count = 0;
  std::array<int64_t, kMaxRank> extent{};
  std::array<int64_t, kMaxRank> x{};  ///< strides
  std::array<int64_t, kMaxRank> y{};

  void add(int64_t n, int64_t x_step, int64_t y_step) {
    if (count > 0) {
      const auto last = static_cast<size_t>(count - 1);
      const bool one = extent[last] == 1;
      if (one || (x[last] == n * x_step && y[last] == n * y_step)) {
        extent[last] *= n;
        x[last] = x_step;
        y[last] = y_step;
        return;
      }
      if (n == 1) return;
    }
    const auto at = static_cast<size_t>(count++);
    extent[at] = n;
    x[at] = x_step;
    y[at] = y_step;
  }

  /// Call `body(x_offset, y_offset)` for every iteration of loops [from, to).
  template <class Body>
  void for_each(int from, int to, const Body& body, int64_t x_at = 0, int64_t y_at = 0) const {
    if (from == to) return body(x_at, y_at);
    const auto axis = static_cast<size_t>(from);
    for (int64_t i = 0; i < extent[axis]; ++i) {
      for_each(from + 1, to, body, x_at + i * x[axis], y_at + i * y[axis]);
    }
  }

  struct Loop {
    int64_t extent = 1;
    int64_t x = 0;  ///< strides
    int64_t y = 0;
  };
  /// Remove the innermost loop and return it; one iteration if there is none.
  Loop take_last() {
    if (count == 0) return {};
    const auto last = static_cast<size_t>(--count);
    return {extent[last], x[last], y[last]};
  }

  /// Return the units of work of the slices inside the loops.
  int64_t units(int64_t slices) const {
    for (int i = 0; i < count; ++i) slices *= extent[static_cast<size_t>(i)];
    return slices;
  }
  /// Call `body(x_offset, y_offset, first, count)` for the slices of one thread's share.
  template <class Body>
  void walk(const Share& share, int64_t slices, const Body& body) const {
    const auto iterations = [&](int loop) { return extent[static_cast<size_t>(loop)]; };
    walk_share<kMaxRank>(share, count, iterations, slices,
                         [&](const auto& index, int64_t first, int64_t some) {
                           int64_t x_at = 0;
                           int64_t y_at = 0;
                           for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
                             x_at += index[i] * x[i];
                             y_at += index[i] * y[i];
                           }
                           body(x_at, y_at, first, some);
                         });
  }
};

RILL_STEP_FIELDS(Nest, count, extent, x, y)

/// Require that a nest is valid, and report its slices as the units of the step.
inline void touch_nest(const Nest& nest, int64_t slices, StepTouches& touches) {
  touches.within(nest.count, 0, kMaxRank);
  if (!touches.holds()) return;
  touches.units(slices, {nest.extent.data(), static_cast<size_t>(nest.count)});
}

/// Return a region, repeated for all iterations of a nest.
inline Region in_nest(const Nest& nest, const std::array<int64_t, kMaxRank>& strides,
                      Region region) {
  for (size_t i = 0; i < static_cast<size_t>(nest.count); ++i) {
    region = region.over(nest.extent[i], strides[i]);
  }
  return region;
}

}  // namespace rill::ops
