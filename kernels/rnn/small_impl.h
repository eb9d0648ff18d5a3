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

/// The pointers of a lane in a step: the states, padded to whole vectors, and the units of `y`.
struct SmallPlace {
  const float* x;
  const float* h;
  float* next;
  float* c;
  float* y;  // or null
};

/// The number of lanes that run side by side and share the weights that they read: 1 if the
/// registers cannot hold the sums of a second lane, and in programs without a heap, which step no
/// streams together.
template <class Arch>
#if defined(RILL_NO_HEAP)
constexpr int kSmallLanes = 1;
#else
constexpr int kSmallLanes = Ops<Arch>::kLanes >= 8 || Ops<Arch>::kRegisters >= 32 ? 2 : 1;
#endif

/// The vectors of units of two lanes whose products are in registers at the same time.
template <class Arch>
constexpr int kBlocksOfTwo = Ops<Arch>::kRegisters >= 32 ? 2 : 1;

/// Add the products of `count` values of each lane with the columns of kBlocks blocks of units.
template <class Arch, int kGates, int kRows, int kBlocks>
RILL_INLINE void add_values(const float* const (&values)[kRows], int64_t count, const float* w,
                            int64_t stride, Lanes<Arch> (&sums)[kRows][kBlocks * kGates]) {
  using V = Lanes<Arch>;
  constexpr int kLanes = Ops<Arch>::kLanes;
#pragma GCC unroll 1
  for (int64_t k = 0; k < count; ++k, w += kGates * kLanes) {
    V value[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) value[r] = V(values[r][k]);
#pragma GCC unroll 16
    for (int j = 0; j < kBlocks * kGates; ++j) {
      const V column = V::load_aligned(w + j / kGates * stride + j % kGates * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r][j] = Ops<Arch>::madd(value[r], column, sums[r][j]);
    }
  }
}

/// Compute the products of kRows lanes with kBlocks vectors of units in one step: those with the
/// input, then those with the states, lane by lane and block by block.
template <class Arch, class Cell, int kRows, int kBlocks>
RILL_INLINE void small_products(const SmallRnnF32Args& a, const SmallPlace (&at)[kRows],
                                const float* w, int64_t stride, float* products) {
  using V = Lanes<Arch>;
  constexpr int kLanes = Ops<Arch>::kLanes, kGates = Cell::kGates, kWide = kBlocks * kGates;
  const float* inputs[kRows];
  const float* states[kRows];
  V x[kRows][kWide], h[kRows][kWide];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    inputs[r] = at[r].x;
    states[r] = at[r].h;
#pragma GCC unroll 16
    for (int j = 0; j < kWide; ++j) {
      x[r][j] = V::load_aligned(w + j / kGates * stride + (1 + j % kGates) * kLanes);
      h[r][j] = V(0.0f);
    }
  }
  const float* filters = w + (1 + kGates) * kLanes;
  const auto keep = [&](const V(&sums)[kRows][kWide], float* to) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int j = 0; j < kWide; ++j) {
        const int block = r * kBlocks + j / kGates;
        sums[r][j].store_aligned(to + (block * 2 * kGates + j % kGates) * kLanes);
      }
    }
  };
  add_values<Arch, kGates, kRows, kBlocks>(inputs, a.inputs, filters, stride, x);
  if constexpr (kRows > 1) keep(x, products);  // before the sums of the states fill the registers
  filters += a.inputs * kGates * kLanes;
  add_values<Arch, kGates, kRows, kBlocks>(states, a.hidden, filters, stride, h);
  if constexpr (kRows == 1) keep(x, products);
  keep(h, products + kGates * kLanes);
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

/// The same out of line, for steps of two lanes: inlined twice, the gates would take more memory
/// than the rest of the loop.
template <class Arch, class Cell>
[[gnu::noinline]] void small_units_apart(const SmallRnnF32Args& a, const SmallPlace& at,
                                         const float* bias, const float* products,
                                         int64_t unit) RILL_NONBLOCKING {
  small_units<Arch, Cell>(a, at, bias, products, unit);
}

/// Compute all units of kRows lanes in one step, kMost vectors of units at a time: their products
/// hide the latency of each other's chains.
template <class Arch, class Cell, int kRows, int kMost>
RILL_INLINE void small_step(const SmallRnnF32Args& a, const SmallPlace (&at)[kRows],
                            int64_t stride) {
  constexpr int kLanes = Ops<Arch>::kLanes, kProducts = 2 * Cell::kGates * kLanes;
  const float* w = a.w;
  for (int64_t unit = 0; unit < a.hidden;) {
    alignas(64) float products[kRows * kMost * kProducts];
    const int blocks = kMost == 2 && unit + kLanes < a.hidden ? 2 : 1;
    if (blocks == kMost) {
      small_products<Arch, Cell, kRows, kMost>(a, at, w, stride, products);
    } else {
      small_products<Arch, Cell, kRows, 1>(a, at, w, stride, products);
    }
#pragma GCC unroll 1
    for (int b = 0; b < blocks; ++b, unit += kLanes, w += stride) {
      const float* own = products + b * kProducts;
      if constexpr (kRows == 1) {
        small_units<Arch, Cell>(a, at[0], w, own, unit);
      } else {
        small_units_apart<Arch, Cell>(a, at[0], w, own, unit);
        small_units_apart<Arch, Cell>(a, at[1], w, own + blocks * kProducts, unit);
      }
    }
  }
}

/// Copy a state into whole vectors, with zeros past the last unit.
template <class Arch>
RILL_INLINE void load_units(const float* from, int64_t units, float* to) {
  constexpr int kLanes = Ops<Arch>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= units; i += kLanes) {
    Lanes<Arch>::load_unaligned(from + i).store_aligned(to + i);
  }
  if (i < units) Ops<Arch>::load_partial(from + i, units - i).store_aligned(to + i);
}

/// Copy a state back.
template <class Arch>
RILL_INLINE void store_units(const float* from, int64_t units, float* to) {
  constexpr int kLanes = Ops<Arch>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= units; i += kLanes) {
    Lanes<Arch>::load_aligned(from + i).store_unaligned(to + i);
  }
  if (i < units) Ops<Arch>::store_partial(to + i, Lanes<Arch>::load_aligned(from + i), units - i);
}

/// Run all steps of kRows lanes. Units past the last stay 0.
template <class Arch, class Cell, int kRows, int kMost>
RILL_INLINE void small_lanes(const SmallRnnF32Args& a, const RnnLane* lanes) {
  constexpr bool kHasCells = Cell::kGates == 4;
  const int64_t stride = (1 + Cell::kGates * (1 + a.inputs + a.hidden)) * Ops<Arch>::kLanes;
  alignas(64) float states[kRows][2][kSmallRnnUnits], cells[kRows][kSmallRnnUnits];
  SmallPlace at[kRows];
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    load_units<Arch>(lanes[r].h[0], a.hidden, states[r][0]);
    if (kHasCells) load_units<Arch>(lanes[r].c, a.hidden, cells[r]);
    at[r] = {lanes[r].x[0], states[r][0], states[r][1], cells[r], lanes[r].y};
  }
  for (int64_t step = 0; step < a.steps; ++step) {
    small_step<Arch, Cell, kRows, kMost>(a, at, stride);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      float* const from = at[r].next;
      at[r].next = const_cast<float*>(at[r].h);
      at[r].h = from;
      at[r].x += a.x_stride;
      if (at[r].y != nullptr) at[r].y += a.y_stride;
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    store_units<Arch>(at[r].h, a.hidden, lanes[r].h[0]);
    if (kHasCells) store_units<Arch>(cells[r], a.hidden, lanes[r].c);
  }
}

/// With at least this number of steps, lanes of more than two vectors of units run one by one: a
/// pair gains nothing.
constexpr int64_t kStepsAlone = 16;

/// Run all steps of every lane, two lanes side by side where that is faster.
template <class Arch, class Cell>
void small_recurrent(const SmallRnnF32Args& a) {
  int64_t lane = 0;
  if constexpr (kSmallLanes<Arch> == 2) {
    const bool pairs = a.steps < kStepsAlone || a.hidden <= 2 * Ops<Arch>::kLanes;
    for (; pairs && lane + 1 < a.lanes; lane += 2) {
      small_lanes<Arch, Cell, 2, kBlocksOfTwo<Arch>>(a, a.lane + lane);
    }
  }
  for (; lane < a.lanes; ++lane) small_lanes<Arch, Cell, 1, 2>(a, a.lane + lane);
}

}  // namespace
}  // namespace rill::kernels
