#pragma once

#include <algorithm>
#include <array>

#include "core/run/plan.h"

namespace rill {

/// Walk the share of a step whose units are slices inside `loops` nested loops, outermost first.
/// Call `body(index, first, count)` for each run of slices, with the index of every loop.
/// `extent(loop)` returns the number of iterations of a loop.
template <int kMost, class Extent, class Body>
void walk_share(const Share& share, int loops, const Extent& extent, int64_t slices,
                const Body& body) {
  std::array<int64_t, kMost> index{};
  int64_t left = share.end - share.begin;
  int64_t first = share.begin;
  if (left > 0 && first >= slices) {
    int64_t iteration = first / slices;
    first -= iteration * slices;
    for (int loop = loops; loop-- > 0;) {
      index[static_cast<size_t>(loop)] = iteration % extent(loop);
      iteration /= extent(loop);
    }
  }
  while (left > 0) {
    const int64_t count = std::min(left, slices - first);
    body(index, first, count);
    left -= count;
    if (left == 0) return;
    first = 0;
    for (int loop = loops; loop-- > 0;) {
      int64_t& at = index[static_cast<size_t>(loop)];
      if (++at < extent(loop)) break;
      at = 0;
    }
  }
}

}  // namespace rill
