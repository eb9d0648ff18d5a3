#pragma once

#include <algorithm>
#include <optional>

#include "ops/nn/window.h"

namespace rill::ops {

/// The taps [begin, end) of a window along one axis.
struct TapRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// Return the taps inside an input of that extent if tap 0 is at `first`. It takes constant time,
/// however large the kernel, so that padding is not visited tap by tap.
inline TapRange taps_inside(int64_t first, int64_t dilation, int64_t kernel, int64_t extent) {
  if (first >= extent) return {};
  const int64_t begin = first >= 0 ? 0 : (dilation - 1 - first) / dilation;
  return {begin, std::min(kernel, (extent - 1 - first) / dilation + 1)};
}

/// Call `visit(tap, at, flat)` for the taps of the output element `out` that lie inside x, in
/// ascending order with the last axis fastest. `tap` has an index per spatial axis, `at` is the
/// offset from `base` in x, and `flat` the index of the element in its plane.
template <class Visit>
void for_each_tap(const Window& window, const View& x, const std::array<int64_t, kMaxRank>& out,
                  int64_t base, Visit&& visit) {
  const int spatial = window.axes();
  std::array<int64_t, kMaxRank> first{};
  std::array<TapRange, kMaxRank> ranges{};
  std::array<int64_t, kMaxRank> tap{};
  for (int i = 0; i < spatial; ++i) {
    const auto a = static_cast<size_t>(i);
    first[a] = out[a + 2] * window.stride[a] - window.pads(i, x.extent(i + 2)).first;
    ranges[a] = taps_inside(first[a], window.dilation[a], window.kernel[a], x.extent(i + 2));
    if (ranges[a].begin >= ranges[a].end) return;
    tap[a] = ranges[a].begin;
  }
  for (;;) {
    int64_t at = base;
    int64_t flat = 0;
    for (int i = 0; i < spatial; ++i) {
      const auto a = static_cast<size_t>(i);
      const int64_t index = first[a] + tap[a] * window.dilation[a];
      at += index * x.stride[a + 2];
      flat = flat * x.shape[a + 2] + index;
    }
    visit(tap, at, flat);
    int axis = spatial - 1;
    while (axis >= 0) {
      const auto a = static_cast<size_t>(axis);
      if (++tap[a] < ranges[a].end) break;
      tap[a] = ranges[a].begin;
      --axis;
    }
    if (axis < 0) return;
  }
}

/// The taps of a transposed convolution that contribute to an output element: tap t contributes to
/// element `raw` from frame (raw - t * dilation) / stride if that is an integer.
class TapSteps {
 public:
  TapSteps(int64_t dilation, int64_t stride) RILL_NONBLOCKING;

  /// Return the distance from one such tap to the next.
  int64_t step() const { return step_; }
  /// Return the first such tap, below `step()`; nothing if there is none.
  std::optional<int64_t> first(int64_t raw) const RILL_NONBLOCKING;

 private:
  int64_t shared_;
  int64_t step_;
  int64_t inverse_;  ///< of dilation / shared_, modulo step_
};

/// The cost along one axis of a step that reads a padded copy of its input.
struct PaddedAxis {
  double reads = 1;    ///< of elements, padding included
  double useful = 1;   ///< of elements of the input, at most
  double padded = 1;   ///< elements of the copy
};

/// Return whether a step reads a padded copy of `x`, as kernels require, in about the time of
/// reading the data alone. If nearly all of the copy is padding, the step instead evaluates the
/// operator element by element, and clips each window to the data. `products` is the number of
/// operations per element of x or y that is read.
bool padding_is_cheap(const Operand& x, const Operand& y, double products,
                      std::span<const PaddedAxis> axes);

/// As above for a window that slides over x and makes y.
bool padding_is_cheap(const Window& window, const Operand& x, const Operand& y, double products);

}  // namespace rill::ops
