#pragma once

#include "kernels/math/functions.h"
#include "kernels/softmax/softmax.h"

namespace rill::kernels {
namespace {

template <class V>
inline V load_row(const float* p, int64_t n) {
  return n == static_cast<int64_t>(V::size) ? V::load_unaligned(p)
                                            : math::load_partial<V>(p, static_cast<size_t>(n));
}

template <class V>
inline void store_row(const V& v, float* p, int64_t n) {
  if (n == static_cast<int64_t>(V::size)) {
    v.store_unaligned(p);
  } else {
    math::store_partial(v, p, static_cast<size_t>(n));
  }
}

/// Call f(i, count) for the vectors of a row; count is the number of active lanes.
template <class V, class F>
inline void along_row(int64_t n, F f) {
  constexpr int64_t kWidth = V::size;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) f(i, kWidth);
  if (i < n) f(i, n - i);
}

/// Find the largest element. The result for NaN is unspecified: NaN reaches the row through the
/// sum.
template <class V>
inline V row_max(const float* x, int64_t n) {
  const V lowest(-__builtin_inff());
  V m = lowest;
  along_row<V>(n, [&](int64_t i, int64_t count) {
    V v = load_row<V>(x + i, count);
    if (count < static_cast<int64_t>(V::size))
      v = math::first_of(static_cast<size_t>(count), v, lowest);
    m = math::max_or_second(v, m);
  });
  return V(math::fold_lanes(m, [](auto a, auto b) { return math::max_or_second(a, b); }));
}

/// Sum exp(x - m); lane i adds the elements i, i + width, ..., and a tree combines the lanes. If y
/// is not null, store the terms there.
template <class V>
inline V row_exp_sum(const float* x, int64_t n, const V& m, float* y) {
  const V zero(0.0f);
  V sum = zero;
  along_row<V>(n, [&](int64_t i, int64_t count) {
    V e = math::exp(load_row<V>(x + i, count) - m);
    if (y != nullptr) store_row(e, y + i, count);
    if (count < static_cast<int64_t>(V::size))
      e = math::first_of(static_cast<size_t>(count), e, zero);
    sum = sum + e;
  });
  return V(math::fold_lanes(sum, [](auto a, auto b) { return a + b; }));
}

template <class V>
void softmax_rows(const SoftmaxF32Args& args) {
  const float* x = args.x;
  float* y = args.y;
  for (int64_t r = 0; r < args.rows; ++r, x += args.x_stride, y += args.y_stride) {
    const V m = row_max<V>(x, args.n);
    if (args.log) {
      const V log_sum = math::log(row_exp_sum<V>(x, args.n, m, nullptr));
      along_row<V>(args.n, [&](int64_t i, int64_t count) {
        store_row(load_row<V>(x + i, count) - m - log_sum, y + i, count);
      });
    } else {
      const V factor = math::recip(row_exp_sum<V>(x, args.n, m, y));
      along_row<V>(args.n, [&](int64_t i, int64_t count) {
        store_row(load_row<V>(y + i, count) * factor, y + i, count);
      });
    }
  }
}

}  // namespace
}  // namespace rill::kernels
