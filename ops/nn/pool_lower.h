#pragma once

#include "kernels/pool/pool.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Lower an f32 pool over up to three spatial axes, of the largest values or of sums; `border` is
/// what padding holds. False if windows reach along all three.
bool lower_pool_f32(Lowering& lowering, const Window& window, float border, float scale,
                    bool largest);

/// The number of a type that no other one is below: the largest of a window of padding alone.
Result<Tensor> lowest_of(const Fact& x);

/// Call `body(at, index)` for every tap of every output: `at` is the offset in the input, -1
/// outside of it.
template <class Begin, class Tap, class End>
void for_each_window(const Window& window, const View& x, const View& y, Begin&& begin, Tap&& tap,
                     End&& end) {
  const int spatial = window.axes();
  std::array<int64_t, kMaxRank> out{};
  if (y.volume() == 0) return;
  for (;;) {
    begin();
    std::array<int64_t, kMaxRank> t{};
    for (;;) {
      int64_t at = out[0] * x.stride[0] + out[1] * x.stride[1];
      int64_t flat = 0;
      bool inside = true;
      for (int i = 0; i < spatial; ++i) {
        const auto a = static_cast<size_t>(i);
        const int64_t index = out[a + 2] * window.stride[a] + t[a] * window.dilation[a] -
                              window.pads(i, x.extent(i + 2)).first;
        inside &= index >= 0 && index < x.shape[a + 2];
        at += index * x.stride[a + 2];
        flat = flat * x.shape[a + 2] + index;
      }
      tap(inside, at, flat);
      int axis = spatial - 1;
      while (axis >= 0 &&
             ++t[static_cast<size_t>(axis)] == window.kernel[static_cast<size_t>(axis)]) {
        t[static_cast<size_t>(axis--)] = 0;
      }
      if (axis < 0) break;
    }
    end(out);
    int axis = y.rank - 1;
    while (axis >= 0 && ++out[static_cast<size_t>(axis)] == y.shape[static_cast<size_t>(axis)]) {
      out[static_cast<size_t>(axis--)] = 0;
    }
    if (axis < 0) return;
  }
}

inline int64_t offset_of(const View& view, const std::array<int64_t, kMaxRank>& index) {
  int64_t at = 0;
  for (int i = 0; i < view.rank; ++i) at += index[static_cast<size_t>(i)] * view.step(i);
  return at;
}

}  // namespace rill::ops
