#pragma once

#include "kernels/rnn/few_bits_impl.h"
#include "kernels/rnn/few_bits_row.h"
#include "kernels/rnn/rnn_args.h"
#include "kernels/rnn/rnn_gates.h"

namespace rill::kernels {
namespace {

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
  RILL_INLINE void set(float* p, V v) const {
    if constexpr (kPartial) {
      Ops<Arch>::store_partial(p + at, v, count);
    } else {
      v.store_unaligned(p + at);
    }
  }
};

// A cell: its gates, the vectors of units in a block of W, and its step for one vector of units,
// from the products h W of the gates. `x` is the offset of the step in the projections.

template <class Arch>
struct GruCell {
  using V = Lanes<Arch>;
  static constexpr int kGates = 3, kVecs = 1;
  const RnnF32Args& a;

  template <class U>
  RILL_INLINE V step(const U& u, const RnnLane& lane, int64_t x, const V* s, V h) const {
    V n = s[2];
    if (a.b_hn != nullptr) n = n + u.get(a.b_hn);
    const GruSums<V> sums{s[0], s[1], n};
    return gru_step(u.get(lane.x[0] + x), u.get(lane.x[1] + x), u.get(lane.x[2] + x), sums, h);
  }
};

template <class Arch>
struct LstmCell {
  using V = Lanes<Arch>;
  static constexpr int kGates = 4, kVecs = 1;
  const RnnF32Args& a;

  template <class U>
  RILL_INLINE V step(const U& u, const RnnLane& lane, int64_t x, const V* s, V) const {
    const V i = u.get(lane.x[0] + x) + s[0], f = u.get(lane.x[1] + x) + s[1];
    const V g = u.get(lane.x[2] + x) + s[2], o = u.get(lane.x[3] + x) + s[3];
    const LstmStates<V> next = lstm_step(i, f, g, o, u.get(lane.c));
    u.set(lane.c, next.c);
    return next.h;
  }
};

template <class Arch>
struct RnnCell {
  using V = Lanes<Arch>;
  static constexpr int kGates = 1, kVecs = kRnnBlockVecs;
  const RnnF32Args& a;

  template <class U>
  RILL_INLINE V step(const U& u, const RnnLane& lane, int64_t x, const V* s, V) const {
    return rnn_step(u.get(lane.x[0] + x) + s[0], a.activation == RnnActivation::kRelu);
  }
};

/// The rows and blocks of units of one tile, in one step. Blocks are visited upwards or downwards,
/// beginning at `block`.
struct CellTile {
  int64_t step, lane, block, direction;
  int now = 0;               // which h of a lane the step reads; it writes the other
  const float* w = nullptr;  // of the first block
  int64_t w_stride = 0;      // to the next one
};

/// The lanes and blocks of a tile.
struct CellShape {
  int rows, blocks;
};

/// Compute the gates of a tile from its products, and with them the states.
template <class Arch, class Cell>
[[gnu::noinline]] void cell_gates(const Cell& cell, const CellTile& t, const Lanes<Arch>* s,
                                  CellShape shape) RILL_NONBLOCKING {
  constexpr int kLanes = Ops<Arch>::kLanes;
  const auto& a = cell.a;
  const int64_t x = t.step * a.x_stride;
  for (int row = 0; row < shape.rows; ++row) {
    const RnnLane lane = a.lane[t.lane + row];
    const float* const h = lane.h[t.now];
    float* const next = lane.h[1 - t.now];
    float* y = lane.y;
    if (y != nullptr) y += t.step * a.y_stride;
    const auto gates = [&](auto u) __attribute__((always_inline)) {
      const Lanes<Arch> out = cell.step(u, lane, x, s, u.get(h));
      u.set(next, out);
      if (y != nullptr) u.set(y, out);
    };
    for (int j = 0; j < shape.blocks * Cell::kVecs; ++j, s += Cell::kGates) {
      const int64_t block = t.block + t.direction * (j / Cell::kVecs);
      const int64_t unit = (block * Cell::kVecs + j % Cell::kVecs) * kLanes;
      if (unit + kLanes <= a.hidden) {
        gates(Units<Arch, false>{unit, kLanes});
      } else if (unit < a.hidden) {
        gates(Units<Arch, true>{unit, a.hidden - unit});
      }
    }
  }
}

/// The addresses of a tile's blocks: one base, to which the others are relative, or a register for
/// each.
template <class Arch, int kBlocks, bool kPointers>
struct Blocks {
  const float* first;
  int64_t stride;

  RILL_INLINE explicit Blocks(const CellTile& t) : first(t.w), stride(t.w_stride) {}
  RILL_INLINE const float* at(int i) const { return first + i * stride; }
  RILL_INLINE void advance(int64_t floats) { first += floats; }
};
template <class Arch, int kBlocks>
struct Blocks<Arch, kBlocks, true> {
  const float* each[kBlocks];

  RILL_INLINE explicit Blocks(const CellTile& t) {
#pragma GCC unroll 32
    for (int i = 0; i < kBlocks; ++i) each[i] = t.w + i * t.w_stride;
  }
  RILL_INLINE const float*& at(int i) { return each[i]; }
  RILL_INLINE void advance(int64_t floats) {
#pragma GCC unroll 32
    for (int i = 0; i < kBlocks; ++i) Ops<Arch>::keep(each[i] += floats);
  }
};

/// Add the products of value p of kRows lanes with kBlocks blocks of kRow vectors. `lanes` points
/// to the ends of their values, so `p` is negative. The shorter side stays in registers, and the
/// longer one streams through.
template <class Arch, int kRow, int kRows, int kBlocks, bool kPointers>
RILL_INLINE void add_products(const float* const (&lanes)[kRows], int64_t p,
                              Blocks<Arch, kBlocks, kPointers>& blocks,
                              Lanes<Arch> (&acc)[kRows][kBlocks * kRow]) {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kWide = kBlocks * kRow, kFree = S::kRegisters - kRows * kWide - kRows;
  // If not all blocks fit in registers, load later ones after the sums of earlier ones.
  constexpr int kAhead = kRow * (kFree / kRow < 1 ? 1 : kFree / kRow);
  if constexpr (kRows < kWide) {
    V hv[kRows];
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) hv[r] = V(lanes[r][p]);
#pragma GCC unroll 32
    for (int j = 0; j < kWide; ++j) {
      if (kPointers && j % kRow == 0 && j >= kAhead) {
#pragma GCC unroll 32
        for (int i = 0; i < kRows * kRow; ++i) {
          S::wait(blocks.at(j / kRow), acc[i / kRow][j - kAhead + i % kRow]);
        }
      }
      const V wv = V::load_aligned(blocks.at(j / kRow) + j % kRow * S::kLanes);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) acc[r][j] = S::madd(hv[r], wv, acc[r][j]);
    }
  } else {
    V wv[kWide];
#pragma GCC unroll 32
    for (int j = 0; j < kWide; ++j) {
      wv[j] = V::load_aligned(blocks.at(j / kRow) + j % kRow * S::kLanes);
    }
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      const V hv(lanes[r][p]);
#pragma GCC unroll 32
      for (int j = 0; j < kWide; ++j) acc[r][j] = S::madd(hv, wv[j], acc[r][j]);
    }
  }
  blocks.advance(kRow * S::kLanes);
}

/// Compute kRows lanes by kBlocks blocks of units: the products of all gates in registers, then the
/// gates. Meanwhile the hardware prefetches the next blocks.
template <class Arch, class Cell, int kRows, int kBlocks>
[[gnu::noinline]] void cell_tile(const Cell& cell, const CellTile& t) RILL_NONBLOCKING {
  using V = Lanes<Arch>;
  constexpr int kRow = Cell::kGates * Cell::kVecs, kWide = kBlocks * kRow;
  const int64_t hidden = cell.a.hidden;
  const float* lanes[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) lanes[r] = cell.a.lane[t.lane + r].h[t.now] + hidden;
  Blocks<Arch, kBlocks, Ops<Arch>::kManyPointers> blocks(t);
  V acc[kRows][kWide];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kWide; ++j) acc[r][j] = V(0.0f);
  }
  if constexpr (Ops<Arch>::kMostOfRow < 12 && kRows * kWide <= 4) {
    int64_t p = -hidden;
    for (; p < -1; p += 2) {  // unrolled, since an iteration has few products
      add_products<Arch, kRow>(lanes, p, blocks, acc);
      add_products<Arch, kRow>(lanes, p + 1, blocks, acc);
    }
    if (p != 0) add_products<Arch, kRow>(lanes, p, blocks, acc);
  } else if constexpr (Ops<Arch>::kManyPointers) {
#pragma GCC unroll 1
    for (int64_t p = -hidden; p != 0; ++p) add_products<Arch, kRow>(lanes, p, blocks, acc);
  } else {
#pragma GCC unroll 2
    for (int64_t p = -hidden; p != 0; ++p) add_products<Arch, kRow>(lanes, p, blocks, acc);
  }
  V sums[kRows * kWide];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kWide; ++j) sums[r * kWide + j] = acc[r][j];
  }
  cell_gates<Arch>(cell, t, sums, {kRows, kBlocks});
}

template <class Arch>
constexpr int kMostSums = Ops<Arch>::kRegisters * 3 / 4;

/// The blocks per tile of kRows lanes: enough sums to hide the latency of a multiply-add, and at
/// most as many as fit in registers.
template <class Arch, class Cell, int kRows>
constexpr int wide_blocks() {
  constexpr int kHiding = Ops<Arch>::kLanes == 16 ? 6 : 12;
  constexpr int kEnough = Ops<Arch>::kMostOfRow < kHiding ? Ops<Arch>::kMostOfRow : kHiding;
  constexpr int kRoom = kMostSums<Arch> / kRows;
  constexpr int kSums = kRoom < kEnough ? kRoom : kEnough;
  constexpr int kRow = Cell::kGates * Cell::kVecs;
  return kSums > kRow ? kSums / kRow : 1;
}

/// Return the W of a tile's blocks; a reduced-precision W is unpacked for it.
template <class Arch, class Cell>
[[gnu::noinline]] void place_blocks(const Cell& cell, int64_t blocks,
                                    CellTile* t) RILL_NONBLOCKING {
  constexpr int64_t kColumns = Cell::kGates * Cell::kVecs * Ops<Arch>::kLanes;
  const auto& a = cell.a;
  const RnnFewBits& few = a.few_bits;
  const int64_t block_floats = a.hidden * kColumns;
  if (few.upcast == nullptr) {
    t->w = a.w + t->block * block_floats;
    t->w_stride = t->direction * block_floats;
    return;
  }
  t->w = few.wide;
  t->w_stride = block_floats;
  for (int64_t i = 0; i < blocks; ++i) {
    const std::byte* from = few.w + (t->block + t->direction * i) * few.block_bytes;
    few.upcast(from, a.hidden, kColumns, few.wide + i * block_floats);
  }
}

/// Compute kRows lanes of one step. Every second step visits the blocks in reverse order, so that
/// the last blocks of the previous step are still in the first cache level. A tile has blocks from
/// this level and from the next one, so that both levels are busy.
template <class Arch, class Cell, int kRows>
void cell_rows(const Cell& cell, CellTile t, bool down) RILL_NONBLOCKING {
  constexpr int kWide = wide_blocks<Arch, Cell, kRows>(), kLast = (kWide + 1) / 2;
  constexpr int64_t kUnits = Cell::kVecs * Ops<Arch>::kLanes;
  int64_t left = (cell.a.hidden + kUnits - 1) / kUnits;
  t.direction = down ? -1 : 1;
  t.block = down ? left - 1 : 0;
  static_assert(kWide * Cell::kGates * Cell::kVecs <= kRnnTileVecs);
  const auto take = [&](int64_t blocks, auto tile) {
    place_blocks<Arch>(cell, blocks, &t);
    tile(cell, t);
    left -= blocks;
    t.block += t.direction * blocks;
  };
  while (left > kWide) take(kWide, cell_tile<Arch, Cell, kRows, kWide>);
  while (left >= kLast) take(kLast, cell_tile<Arch, Cell, kRows, kLast>);
  if constexpr (kLast > 1) {
    while (left > 0) take(1, cell_tile<Arch, Cell, kRows, 1>);
  }
}

/// Compute one lane of one step with a reduced-precision W, upcast in registers or as bytes.
template <class Arch, class Cell>
void few_bits_lane(const Cell& cell, CellTile t, bool down) RILL_NONBLOCKING {
  constexpr int kRow = Cell::kGates * Cell::kVecs, kMost = kRnnTileVecs / kRow;
  constexpr int64_t kUnits = Cell::kVecs * Ops<Arch>::kLanes;
  const auto& a = cell.a;
  const FewBitsRow row =
      few_bits_row(a.few_bits, a.lane[t.lane].h[t.now], a.hidden, kRow * Ops<Arch>::kLanes);
  int64_t left = (a.hidden + kUnits - 1) / kUnits;
  t.direction = down ? -1 : 1;
  t.block = down ? left - 1 : 0;
  while (left > 0) {
    const int blocks = left < kMost ? static_cast<int>(left) : kMost;
    FewBitsVector vectors[kRnnTileVecs];
    for (int i = 0; i < blocks * kRow; ++i) {
      const int64_t block = t.block + t.direction * (i / kRow);
      vectors[i] = {a.few_bits.w + block * a.few_bits.block_bytes, i % kRow * Ops<Arch>::kLanes};
    }
    Lanes<Arch> sums[kRnnTileVecs];
    a.few_bits.sums(row, vectors, blocks * kRow, reinterpret_cast<float*>(sums));
    cell_gates<Arch>(cell, t, sums, {1, blocks});
    left -= blocks;
    t.block += t.direction * blocks;
  }
}

/// Compute one step of all lanes, a few of them at a time.
template <class Arch, class Cell>
void cell_step(const Cell& cell, CellTile t, bool* down) RILL_NONBLOCKING {
  constexpr int kRoom = kMostSums<Arch> / (Cell::kGates * Cell::kVecs),
                kRows = kRoom < 3 ? kRoom : 3;
  while (t.lane < cell.a.lanes) {
    const int64_t left = cell.a.lanes - t.lane, groups = (left + kRows - 1) / kRows;
    const RnnFewBits& few = cell.a.few_bits;
    const int64_t rows = few.quantise != nullptr ? 1 : (left + groups - 1) / groups;
    if (rows == 1 && few.sums != nullptr) {
      few_bits_lane<Arch>(cell, t, *down);
    } else if (rows == 1) {
      cell_rows<Arch, Cell, 1>(cell, t, *down);
    }
    if (rows == 2) cell_rows<Arch, Cell, 2>(cell, t, *down);
    if (rows == 3) cell_rows<Arch, Cell, 3>(cell, t, *down);
    t.lane += rows;
    *down = !*down;
  }
}

template <class Arch, class Cell>
void recurrent(const Cell& cell) {
  const auto& a = cell.a;
  CellTile t{0, 0, 0, 1};
  bool down = false;
  for (; t.step < a.steps; ++t.step, t.now = 1 - t.now) cell_step<Arch>(cell, t, &down);
  for (int64_t lane = 0; t.now == 1 && lane < a.lanes; ++lane) {
    float* const h = a.lane[lane].h[0];
    const float* const last = a.lane[lane].h[1];
    for (int64_t i = 0; i < a.hidden; ++i) h[i] = last[i];
  }
}

}  // namespace
}  // namespace rill::kernels
