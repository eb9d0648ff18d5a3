#pragma once

#include "kernels/matmul/lanes_impl.h"
#include "kernels/matmul/matmul_args.h"
#include "kernels/rnn/rnn_args.h"
#include "kernels/rnn/rnn_gates.h"

namespace rill::kernels {
namespace {

using MatmulRun = void (*)(const MatmulF32Args&) noexcept RILL_NONBLOCKING;

/// The product h W of all gates, a row per lane, into scratch.
template <class Args>
RILL_INLINE MatmulF32Args recurrent_product(const Args& a, int64_t gates) {
  MatmulF32Args g;
  g.m = a.lanes;
  g.n = g.ldc = gates * a.hidden;
  g.segment_len = g.lda = a.hidden;
  g.a = a.h;
  g.b = a.w;
  g.c = a.scratch;
  return g;
}

/// Read and write the hidden units of one vector: all lanes, or the last `count` of the layer.
template <class Arch, bool kPartial>
struct Units {
  using V = Lanes<Arch>;
  int64_t at, count;

  RILL_INLINE V get(const float* p) const {
    if constexpr (kPartial) {
      return Ops<Arch>::load_partial(p + at, count);
    } else {
      return V::load_unaligned(p + at);
    }
  }
  /// Scratch has room for a whole vector after its last gate, or the next lane there.
  RILL_INLINE V sums(const float* p) const { return V::load_unaligned(p + at); }
  RILL_INLINE void set(float* p, V v) const {
    if constexpr (kPartial) {
      Ops<Arch>::store_partial(p + at, v, count);
    } else {
      v.store_unaligned(p + at);
    }
  }
};

/// Call `f` with the `Units` of every vector of the layer.
template <class Arch, class F>
RILL_INLINE void over_units(int64_t hidden, F f) {
  int64_t at = 0;
  for (; at + Ops<Arch>::kLanes <= hidden; at += Ops<Arch>::kLanes) {
    f(Units<Arch, false>{at, Ops<Arch>::kLanes});
  }
  if (at < hidden) f(Units<Arch, true>{at, hidden - at});
}

template <class Arch>
void gru(const GruF32Args& a, MatmulRun matmul_run) {
  using V = Lanes<Arch>;
  const MatmulF32Args product = recurrent_product(a, 3);
  for (int64_t step = 0; step < a.steps; ++step) {
    matmul_run(product);
    for (int64_t lane = 0; lane < a.lanes; ++lane) {
      const float* s = a.scratch + lane * product.ldc;
      const int64_t x = step * a.x_stride + lane * a.x_lane;
      float* state = a.h + lane * a.hidden;
      float* y = a.y == nullptr ? nullptr : a.y + step * a.y_stride + lane * a.y_lane;
      over_units<Arch>(
          a.hidden, [&](auto u) __attribute__((always_inline)) {
            V n = u.sums(s + 2 * a.hidden);
            if (a.b_hn != nullptr) n = n + u.get(a.b_hn);
            const GruSums<V> sums{u.sums(s), u.sums(s + a.hidden), n};
            const V h =
                gru_step(u.get(a.x_r + x), u.get(a.x_z + x), u.get(a.x_n + x), sums, u.get(state));
            u.set(state, h);
            if (y != nullptr) u.set(y, h);
          });
    }
  }
}

template <class Arch>
void lstm(const LstmF32Args& a, MatmulRun matmul_run) {
  using V = Lanes<Arch>;
  const MatmulF32Args product = recurrent_product(a, 4);
  for (int64_t step = 0; step < a.steps; ++step) {
    matmul_run(product);
    for (int64_t lane = 0; lane < a.lanes; ++lane) {
      const float* s = a.scratch + lane * product.ldc;
      const int64_t x = step * a.x_stride + lane * a.x_lane;
      float* h = a.h + lane * a.hidden;
      float* c = a.c + lane * a.hidden;
      float* y = a.y == nullptr ? nullptr : a.y + step * a.y_stride + lane * a.y_lane;
      over_units<Arch>(
          a.hidden, [&](auto u) __attribute__((always_inline)) {
            const V i = u.get(a.x_i + x) + u.sums(s);
            const V f = u.get(a.x_f + x) + u.sums(s + a.hidden);
            const V g = u.get(a.x_g + x) + u.sums(s + 2 * a.hidden);
            const V o = u.get(a.x_o + x) + u.sums(s + 3 * a.hidden);
            const LstmStates<V> next = lstm_step(i, f, g, o, u.get(c));
            u.set(c, next.c);
            u.set(h, next.h);
            if (y != nullptr) u.set(y, next.h);
          });
    }
  }
}

template <class Arch>
void rnn(const RnnF32Args& a, MatmulRun matmul_run) {
  using V = Lanes<Arch>;
  const MatmulF32Args product = recurrent_product(a, 1);
  const bool relu = a.activation == RnnActivation::kRelu;
  for (int64_t step = 0; step < a.steps; ++step) {
    matmul_run(product);
    for (int64_t lane = 0; lane < a.lanes; ++lane) {
      const float* s = a.scratch + lane * product.ldc;
      const float* x = a.x + step * a.x_stride + lane * a.x_lane;
      float* state = a.h + lane * a.hidden;
      float* y = a.y == nullptr ? nullptr : a.y + step * a.y_stride + lane * a.y_lane;
      over_units<Arch>(
          a.hidden, [&](auto u) __attribute__((always_inline)) {
            const V h = rnn_step(u.get(x) + u.sums(s), relu);
            u.set(state, h);
            if (y != nullptr) u.set(y, h);
          });
    }
  }
}

}  // namespace
}  // namespace rill::kernels
