#pragma once

#include "kernels/pool/pool.h"
#include "ops/nn/window_taps.h"

namespace rill::ops {

/// Lower an f32 max or sum pool over up to three spatial axes; `border` is the value of the
/// padding. Return false if windows have several taps along all three axes, or would read mostly
/// padding.
bool lower_pool_f32(Lowering& lowering, const Window& window, float border, float scale,
                    bool largest);

/// Return the lowest number of the type of x: the maximum of a window that holds only padding.
Result<Tensor> lowest_of(const Fact& x);

/// For every output element, call `begin()`, then `tap(at, flat)` for each tap that lies inside the
/// input, where `at` is the offset in the input and `flat` the index of the element in its plane,
/// then `end(out)` with the index of the output element.
template <class Begin, class Tap, class End>
void for_each_window(const Window& window, const View& x, const View& y, Begin&& begin, Tap&& tap,
                     End&& end) {
  std::array<int64_t, kMaxRank> out{};
  if (y.volume() == 0) return;
  for (;;) {
    begin();
    for_each_tap(window, x, out, out[0] * x.stride[0] + out[1] * x.stride[1],
                 [&](const auto&, int64_t at, int64_t flat) { tap(at, flat); });
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
