#pragma once

#include "kernels/rnn/rnn_args.h"
#include "kernels/rnn/rnn_gates.h"
#include "kernels/simd/dense_impl.h"

namespace rill::kernels {
namespace {

/// The products of a vector of units, gate by gate: with the input, and with the states.
template <class Arch>
struct SmallSums {
  const Lanes<Arch>* x;
  const Lanes<Arch>* h;
};

template <class Arch>
struct SmallGruCell {
  using V = Lanes<Arch>;
  static constexpr int kGates = 3;

  static RILL_INLINE V step(const SmallSums<Arch>& s, const float* bias, V h, float*) {
    const V n = bias == nullptr ? s.h[2] : s.h[2] + V::load_aligned(bias);
    return gru_step(s.x[0], s.x[1], s.x[2], GruSums<V>{s.h[0], s.h[1], n}, h);
  }
};

template <class Arch>
struct SmallLstmCell {
  using V = Lanes<Arch>;
  static constexpr int kGates = 4;

  static RILL_INLINE V step(const SmallSums<Arch>& s, const float*, V, float* c) {
    const LstmStates<V> next = lstm_step(s.x[0] + s.h[0], s.x[1] + s.h[1], s.x[2] + s.h[2],
                                         s.x[3] + s.h[3], V::load_aligned(c));
    next.c.store_aligned(c);
    return next.h;
  }
};

/// The pointers of a step: the states, padded to whole vectors, and the units of `y`.
struct SmallPlace {
  const float* x;
  const float* h;
  float* next;
  float* c;
  float* y;  // or null
};

/// Add the products of `count` values with the columns of kBlocks blocks of units.
template <class Arch, int kGates, int kBlocks>
RILL_INLINE void add_values(const float* values, int64_t count, const float* w, int64_t stride,
                            Lanes<Arch> (&sums)[kBlocks * kGates]) {
  using V = Lanes<Arch>;
  constexpr int kLanes = Ops<Arch>::kLanes;
#pragma GCC unroll 1
  for (int64_t k = 0; k < count; ++k, w += kGates * kLanes) {
    const V value(values[k]);
#pragma GCC unroll 16
    for (int j = 0; j < kBlocks * kGates; ++j) {
      const float* from = w + j / kGates * stride + j % kGates * kLanes;
      sums[j] = Ops<Arch>::madd(value, V::load_aligned(from), sums[j]);
    }
  }
}

/// Compute the products of kBlocks vectors of units in one step: those with the input, then those
/// with the states.
template <class Arch, class Cell, int kBlocks>
RILL_INLINE void small_products(const SmallRnnF32Args& a, const SmallPlace& at, const float* w,
                                int64_t stride, float* products) {
  using V = Lanes<Arch>;
  constexpr int kLanes = Ops<Arch>::kLanes, kGates = Cell::kGates;
  V x[kBlocks * kGates], h[kBlocks * kGates];
#pragma GCC unroll 16
  for (int j = 0; j < kBlocks * kGates; ++j) {
    x[j] = V::load_aligned(w + j / kGates * stride + (1 + j % kGates) * kLanes);
    h[j] = V(0.0f);
  }
  const float* filters = w + (1 + kGates) * kLanes;
  add_values<Arch, kGates, kBlocks>(at.x, a.inputs, filters, stride, x);
  filters += a.inputs * kGates * kLanes;
  add_values<Arch, kGates, kBlocks>(at.h, a.hidden, filters, stride, h);
#pragma GCC unroll 16
  for (int j = 0; j < kBlocks * kGates; ++j) {
    float* const to = products + (j / kGates * 2 * kGates + j % kGates) * kLanes;
    x[j].store_aligned(to);
    h[j].store_aligned(to + kGates * kLanes);
  }
}

/// Compute the states of a vector of units.
template <class Arch, class Cell>
RILL_INLINE void small_units(const SmallRnnF32Args& a, const SmallPlace& at, const float* bias,
                             const float* products, int64_t unit) {
  using V = Lanes<Arch>;
  constexpr int kLanes = Ops<Arch>::kLanes, kGates = Cell::kGates;
  V sums[2 * kGates];
#pragma GCC unroll 16
  for (int j = 0; j < 2 * kGates; ++j) sums[j] = V::load_aligned(products + j * kLanes);
  const V out = Cell::step({sums, sums + kGates}, a.has_bias ? bias : nullptr,
                           V::load_aligned(at.h + unit), at.c + unit);
  out.store_aligned(at.next + unit);
  if (at.y == nullptr) return;
  if (unit + kLanes <= a.hidden) {
    out.store_unaligned(at.y + unit);
  } else {
    Ops<Arch>::store_partial(at.y + unit, out, a.hidden - unit);
  }
}

/// Compute all units in one step. The products of two vectors of units hide the latency of each
/// other's chains.
template <class Arch, class Cell>
RILL_INLINE void small_step(const SmallRnnF32Args& a, const SmallPlace& at, int64_t stride) {
  constexpr int kLanes = Ops<Arch>::kLanes, kProducts = 2 * Cell::kGates * kLanes;
  const float* w = a.w;
  for (int64_t unit = 0; unit < a.hidden;) {
    alignas(64) float products[2 * kProducts];
    const int blocks = unit + kLanes < a.hidden ? 2 : 1;
    if (blocks == 2) {
      small_products<Arch, Cell, 2>(a, at, w, stride, products);
    } else {
      small_products<Arch, Cell, 1>(a, at, w, stride, products);
    }
#pragma GCC unroll 1
    for (int b = 0; b < blocks; ++b, unit += kLanes, w += stride) {
      small_units<Arch, Cell>(a, at, w, products + b * kProducts, unit);
    }
  }
}

/// Run all steps of every lane. Units past the last stay 0.
template <class Arch, class Cell>
void small_recurrent(const SmallRnnF32Args& a) {
  constexpr int kLanes = Ops<Arch>::kLanes;
  const int64_t stride = (1 + Cell::kGates * (1 + a.inputs + a.hidden)) * kLanes;
  for (int64_t lane = 0; lane < a.lanes; ++lane) {
    alignas(64) float states[2][kSmallRnnUnits] = {}, cells[kSmallRnnUnits] = {};
    float* const kept = a.h + lane * a.hidden;
    float* const kept_cells = a.c == nullptr ? nullptr : a.c + lane * a.hidden;
    for (int64_t i = 0; i < a.hidden; ++i) states[0][i] = kept[i];
    for (int64_t i = 0; kept_cells != nullptr && i < a.hidden; ++i) cells[i] = kept_cells[i];
    SmallPlace at{a.x + lane * a.x_lane, states[0], states[1], cells,
                  a.y == nullptr ? nullptr : a.y + lane * a.y_lane};
    for (int64_t step = 0; step < a.steps; ++step) {
      small_step<Arch, Cell>(a, at, stride);
      float* const from = at.next;
      at.next = const_cast<float*>(at.h);
      at.h = from;
      at.x += a.x_stride;
      if (at.y != nullptr) at.y += a.y_stride;
    }
    for (int64_t i = 0; i < a.hidden; ++i) kept[i] = at.h[i];
    for (int64_t i = 0; kept_cells != nullptr && i < a.hidden; ++i) kept_cells[i] = cells[i];
  }
}

}  // namespace
}  // namespace rill::kernels
