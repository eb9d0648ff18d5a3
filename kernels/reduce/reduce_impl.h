#pragma once

#include "kernels/math/functions.h"
#include "kernels/reduce/reduce.h"
#include "kernels/simd/nan_watch.h"

namespace rill::kernels {
namespace {

// An operation: its identity, how an element joins an accumulator, how two accumulators join,
// whether short rows justify an unrolled loop, and the detector of NaN.

struct NoWatch {
  template <class V>
  void see(const V&, const V&, int = 0) {}
};

struct SumStep {
  template <class V>
  using Watch = NoWatch;
  static constexpr float kStart = 0.0f;
  static constexpr bool kUnrollsShortRows = true;
  template <class V>
  static V add(const V& acc, const V& x) {
    return acc + x;
  }
  template <class V>
  static V join(const V& a, const V& b) {
    return a + b;
  }
};

struct SumSquaresStep : SumStep {
  template <class V>
  static V add(const V& acc, const V& x) {
    return math::mul_add(x, x, acc);
  }
};

struct ProdStep {
  template <class V>
  using Watch = NoWatch;
  static constexpr float kStart = 1.0f;
  static constexpr bool kUnrollsShortRows = false;
  template <class V>
  static V add(const V& acc, const V& x) {
    return acc * x;
  }
  template <class V>
  static V join(const V& a, const V& b) {
    return a * b;
  }
};

/// The maximum; the watch detects NaN.
struct MaxStep {
  template <class V>
  using Watch = math::NanWatch<V>;
  static constexpr float kStart = -__builtin_inff();
  static constexpr bool kUnrollsShortRows = false;
  template <class V>
  static V add(const V& acc, const V& x) {
    return math::max_or_second(x, acc);
  }
  template <class V>
  static V join(const V& a, const V& b) {
    return math::max_or_second(a, b);
  }
};

struct MinStep {
  template <class V>
  using Watch = math::NanWatch<V>;
  static constexpr float kStart = __builtin_inff();
  static constexpr bool kUnrollsShortRows = false;
  template <class V>
  static V add(const V& acc, const V& x) {
    return math::min_or_second(x, acc);
  }
  template <class V>
  static V join(const V& a, const V& b) {
    return math::min_or_second(a, b);
  }
};

/// Store the first n lanes with a stride.
template <class V>
inline void store_strided(const V& v, float* y, int64_t stride, int64_t n) {
  if (stride == 1 && n == static_cast<int64_t>(V::size)) return v.store_unaligned(y);
  if (stride == 1) return math::store_partial(v, y, static_cast<size_t>(n));
  float lane[V::size];
  v.store_unaligned(lane);
  for (int64_t i = 0; i < n; ++i) y[i * stride] = lane[i];
}

/// Add K adjacent vectors, each to a separate accumulator.
template <class V, class Step, int K>
inline void add_vectors(const float* x, V (&acc)[K], typename Step::template Watch<V>& watch) {
  constexpr int64_t kWidth = V::size;
  V v[K];
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) v[k] = V::load_unaligned(x + k * kWidth);
#pragma GCC unroll 4
  for (int k = 0; k < K; k += 2) watch.see(v[k], v[k + 1 < K ? k + 1 : k], k / 2);
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) acc[k] = Step::add(acc[k], v[k]);
}

/// Reduce K vectors of adjacent columns, each column as a chain in ascending order.
template <class V, class Step, int K>
inline void reduce_columns(const float* x, int64_t stride, int64_t n, const V& scale, float* y,
                           int64_t y_stride, typename Step::template Watch<V>& watch) {
  constexpr int64_t kWidth = V::size;
  V acc[K];
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) acc[k] = V(Step::kStart);
  for (int64_t i = 0; i < n; ++i, x += stride) add_vectors<V, Step, K>(x, acc, watch);
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) {
    store_strided(acc[k] * scale, y + k * kWidth * y_stride, y_stride, kWidth);
  }
}

/// Reduce [reduced, inner] along its first axis; the elements of a row are contiguous.
template <class V, class Step>
void reduce_rows(const ReduceF32Args& a, const float* x, float* y,
                 typename Step::template Watch<V>& watch) {
  constexpr int64_t kWidth = V::size;
  const V scale(a.scale);
  int64_t i = 0;
  for (; i + 4 * kWidth <= a.inner; i += 4 * kWidth) {
    reduce_columns<V, Step, 4>(x + i, a.x_reduced, a.reduced, scale, y + i * a.y_inner, a.y_inner,
                               watch);
  }
  for (; i + kWidth <= a.inner; i += kWidth) {
    reduce_columns<V, Step, 1>(x + i, a.x_reduced, a.reduced, scale, y + i * a.y_inner, a.y_inner,
                               watch);
  }
  if (i == a.inner) return;
  const size_t rest = static_cast<size_t>(a.inner - i);
  V acc(Step::kStart);
  for (int64_t k = 0; k < a.reduced; ++k) {
    const V v = math::load_partial<V>(x + i + k * a.x_reduced, rest);
    watch.see(v, v);
    acc = Step::add(acc, v);
  }
  store_strided(acc * scale, y + i * a.y_inner, a.y_inner, a.inner - i);
}

/// Reduce n contiguous elements to a vector: four accumulators, combined in a fixed order.
template <class V, class Step>
inline V reduce_to_lanes(const float* x, int64_t n, typename Step::template Watch<V>& watch) {
  constexpr int64_t kWidth = V::size;
  V acc[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) acc[k] = V(Step::kStart);
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) add_vectors<V, Step, 4>(x + i, acc, watch);
  for (; i + kWidth <= n; i += kWidth) {
    const V v = V::load_unaligned(x + i);
    watch.see(v, v);
    acc[0] = Step::add(acc[0], v);
  }
  if (i < n) {
    const size_t rest = static_cast<size_t>(n - i);
    const V v = math::load_partial<V>(x + i, rest);
    watch.see(v, v);
    acc[1] = math::first_of(rest, Step::add(acc[1], v), acc[1]);
  }
  return Step::join(Step::join(acc[0], acc[1]), Step::join(acc[2], acc[3]));
}

/// Reduce contiguous elements for `inner` outputs, four at a time, which share the final lane
/// reduction.
template <class V, class Step>
void reduce_contiguous(const ReduceF32Args& a, const float* x, float* y,
                       typename Step::template Watch<V>& watch) {
  const auto join = [](auto p, auto q) { return Step::join(p, q); };
  const auto row = [&](int64_t i) {
    return reduce_to_lanes<V, Step>(x + i * a.x_inner, a.reduced, watch);
  };
  const auto give = [&](const V(&all)[4], int64_t i, int64_t n) {
    float folded[4];
    math::fold_lanes(all, join, folded);
    for (int64_t k = 0; k < n; ++k) y[(i + k) * a.y_inner] = a.scale * folded[k];
  };
  int64_t i = 0;
  if constexpr (Step::kUnrollsShortRows) {
    for (; i + 4 <= a.inner; i += 4) {
      V all[4];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) all[k] = row(i + k);
      give(all, i, 4);
    }
    for (; i < a.inner; ++i) y[i * a.y_inner] = a.scale * math::fold_lanes(row(i), join);
    return;
  }
  for (; i < a.inner; i += 4) {
    const int64_t n = a.inner - i < 4 ? a.inner - i : 4;
    V all[4] = {V(0.0f), V(0.0f), V(0.0f), V(0.0f)};
#pragma GCC unroll 1
    for (int64_t k = 0; k < n; ++k) all[k] = row(i + k);
    give(all, i, n);
  }
}

/// Reduce elements with a stride, in ascending order: the chain of one column, in every lane.
template <class V, class Step>
inline float reduce_strided(const float* x, int64_t stride, int64_t n,
                            typename Step::template Watch<V>& watch) {
  V acc(Step::kStart);
  for (int64_t i = 0; i < n; ++i) {
    const V v(x[i * stride]);
    watch.see(v, v);
    acc = Step::add(acc, v);
  }
  float lane[V::size];
  acc.store_unaligned(lane);
  return lane[0];
}

/// Set each output to NaN if one of its elements is NaN.
[[gnu::noinline]] void spread_nans(const ReduceF32Args& a) {
  for (int64_t o = 0; o < a.outer; ++o) {
    for (int64_t i = 0; i < a.inner; ++i) {
      const float* x = a.x + o * a.x_outer + i * a.x_inner;
      int64_t k = 0;
      while (k < a.reduced && x[k * a.x_reduced] == x[k * a.x_reduced]) ++k;
      if (k < a.reduced) a.y[o * a.y_outer + i * a.y_inner] = __builtin_nanf("");
    }
  }
}

template <class V, class Step>
void reduce_with(const ReduceF32Args& a) {
  typename Step::template Watch<V> watch;
  for (int64_t o = 0; o < a.outer; ++o) {
    const float* x = a.x + o * a.x_outer;
    float* y = a.y + o * a.y_outer;
    if (a.x_inner == 1 && a.inner > 1) {
      reduce_rows<V, Step>(a, x, y, watch);
      continue;
    }
    if (a.x_reduced == 1) {
      reduce_contiguous<V, Step>(a, x, y, watch);
      continue;
    }
    for (int64_t i = 0; i < a.inner; ++i, x += a.x_inner, y += a.y_inner) {
      *y = a.scale * reduce_strided<V, Step>(x, a.x_reduced, a.reduced, watch);
    }
  }
  if constexpr (requires { watch.found(); }) {
    if (watch.found()) spread_nans(a);
  }
}

template <class V>
void reduce(const ReduceF32Args& args) {
  ReduceF32Args a = args;
  if (a.inner == 1 && a.x_outer == 1 && a.x_reduced != 1) {  // the outer axis is the contiguous one
    a.inner = args.outer;
    a.x_inner = 1;
    a.y_inner = args.y_outer;
    a.outer = 1;
  } else if (a.inner == 1 && a.x_outer != 1) {  // rows of one output each: as one row of outputs
    a.inner = args.outer;
    a.x_inner = args.x_outer;
    a.y_inner = args.y_outer;
    a.outer = 1;
  }
  switch (a.op) {
    case ReduceOp::kSum:
      return reduce_with<V, SumStep>(a);
    case ReduceOp::kMax:
      return reduce_with<V, MaxStep>(a);
    case ReduceOp::kMin:
      return reduce_with<V, MinStep>(a);
    case ReduceOp::kProd:
      return reduce_with<V, ProdStep>(a);
    case ReduceOp::kSumSquares:
      return reduce_with<V, SumSquaresStep>(a);
  }
}

}  // namespace
}  // namespace rill::kernels
