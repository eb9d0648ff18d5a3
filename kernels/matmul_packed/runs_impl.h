#pragma once

#include "kernels/matmul_packed/blocks_impl.h"

// Matmuls with a reduced-precision B, for any number of rows. Few rows unpack B in registers. More
// rows share a run of B as floats, which stays in the first cache level.

namespace rill::kernels {
namespace {

/// Unpack a run of one panel.
template <class Arch, class Values>
[[gnu::noinline]] void write_run(const BlockProduct& product, const TileRows& /*rows*/,
                                 const std::byte* from, int64_t count, float* /*sums*/,
                                 BlockRun<Arch>* run) RILL_NONBLOCKING {
  constexpr int kNr = kPanelColumns<Arch>, kLanes = Ops<Arch>::kLanes;
  float* scales = run->scales;
  float* to = run->values;
  for (; count > 0; count -= kPackedBlock, from += kBlockBytes<Arch, Values>) {
    if (product.far) fetch_block<Arch, Values>(from);  // of the next run
    if constexpr (Values::kBits != 16) {
      for (int j = 0; j < kNr; j += kLanes, scales += kLanes) {
        scales_at<Arch, Values>(product.format, from + j * 2).store_aligned(scales);
      }
    }
    const std::byte* const blocks[1] = {from + kScaleBytes<Arch, Values>};
    Values::template read<1, false>(
        blocks, count < kPackedBlock ? count : kPackedBlock,
        [&](int64_t, int, const Lanes<Arch>(&values)[kPanelVecs<Arch>]) RILL_INLINE_LAMBDA {
#pragma GCC unroll 32
          for (const Lanes<Arch>& each : values) {
            each.store_aligned(to);
            to += kLanes;
          }
        });
  }
}

/// The minimum and the maximum number of rows of a tile that reads a run.
constexpr int kLeastRunRows = 3;
constexpr int kMostRunRows = 6;

/// Add the products of a run to the sums of kRows rows, [rows][columns].
template <class Arch, int kRows, int kPanels>
[[gnu::noinline]] void add_run(const float* rows, int64_t lda, const BlockRun<Arch>& run,
                               float* sums) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kVecs = kPanels * kPanelVecs<Arch>, kNr = kPanels * kPanelColumns<Arch>;
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) a[r] = rows + r * lda;
  const float* b = run.values;
  const float* scales = run.scales;
  const int64_t unit = run.scaled ? kPackedBlock : run.count;
  for (int64_t left = run.count; left > 0; left -= unit, scales += kNr) {
    float* all = sums;
    asm("" : "+r"(all));  // one address: compilers would keep the address of each sum
    V part[kRows][kVecs];
#pragma GCC unroll 32
    for (auto& of_row : part) {
#pragma GCC unroll 32
      for (V& v : of_row) v = V(0.0f);
    }
    if (!run.scaled) {
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
        for (int j = 0; j < kVecs; ++j) part[r][j] = V::load_aligned(all + r * kNr + j * S::kLanes);
      }
    }
    const int64_t count = left < unit ? left : unit;
    for (int64_t p = 0; p < count; ++p, b += kNr) {
      V values[kVecs];
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) values[j] = V::load_aligned(b + j * S::kLanes);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        const V av(*a[r]++);
#pragma GCC unroll 32
        for (int j = 0; j < kVecs; ++j) part[r][j] = S::madd(av, values[j], part[r][j]);
      }
    }
    asm("" : "+r"(all));
    if (!run.scaled) {
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
        for (int j = 0; j < kVecs; ++j) part[r][j].store_aligned(all + r * kNr + j * S::kLanes);
      }
      return;
    }
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      const V scale = V::load_aligned(scales + j * S::kLanes);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        float* sum = all + r * kNr + j * S::kLanes;
        S::madd(part[r][j], scale, V::load_aligned(sum)).store_aligned(sum);
      }
    }
  }
}

template <class Arch>
using AddRun = void (*)(const float* rows, int64_t lda, const BlockRun<Arch>& run,
                        float* sums) RILL_NONBLOCKING;

/// `add_run` by the number of rows.
template <class Arch, int kPanels>
struct AddRuns {
  AddRun<Arch> of_rows[kMostRunRows + 1] = {};

  template <int kRows>
  constexpr void add() {
    of_rows[kRows] = add_run<Arch, kRows, kPanels>;
    if constexpr (kRows < kMostRunRows) add<kRows + 1>();
  }
  constexpr AddRuns() { add<kLeastRunRows>(); }
};
template <class Arch, int kPanels>
constexpr AddRuns<Arch, kPanels> kAddRuns{};

/// Up to this number of rows, no run is shared: with many registers, one tile has all rows.
template <class Arch>
constexpr int kDirectRows = kManyRegisters<Arch> ? 8 : kPackedFewRows;
/// The rows that unpack a run while they multiply; without registers for that, none.
template <class Arch>
constexpr int kFirstRows = kManyRegisters<Arch> ? 4 : 0;

/// The functions of a layout of values.
template <class Arch>
struct PackedTiles {
  // By the number of rows: a tile of several panels, for more independent chains, and one of one.
  FewTile<Arch> wide[kDirectRows<Arch> + 1], narrow[kDirectRows<Arch> + 1];
  AddBlocks<Arch> first[kRunPanels<Arch> + 1] = {};  ///< by the number of panels
};

template <class Arch, class Values, int kRows, int kPanels>
constexpr FewTile<Arch> few_tile() {
  static_assert(kRows * kPanels * kPanelVecs<Arch> <= kMostSums);
  return {add_blocks<Arch, Values, kRows, kPanels, false>, kRows, kPanels};
}

template <class Arch, class Values>
constexpr PackedTiles<Arch> packed_tiles() {
  constexpr auto most = [](int rows, int wanted) {
    const int fit = Ops<Arch>::kRegisters / 2 / (rows * kPanelVecs<Arch>);
    return fit < 1 ? 1 : fit < wanted ? fit : wanted;
  };
  constexpr int kOne = most(1, Values::kBits == 4 ? 2 : 4);
  constexpr int kTwo = most(2, Values::kBits == 16 ? 4 : 2);
  PackedTiles<Arch> t;
  t.wide[1] = few_tile<Arch, Values, 1, kOne>();
  t.narrow[1] = few_tile<Arch, Values, 1, 1>();
  t.wide[3] = t.wide[4] = few_tile<Arch, Values, 4, most(4, 2)>();
  t.narrow[2] = t.narrow[3] = t.narrow[4] = few_tile<Arch, Values, 4, 1>();
  t.wide[2] = t.narrow[2];
  if constexpr (kTwo > 1) t.wide[2] = few_tile<Arch, Values, 2, kTwo>();
  if constexpr (kManyRegisters<Arch>) {
    t.wide[5] = t.narrow[5] = few_tile<Arch, Values, 5, 1>();
    t.wide[6] = t.narrow[6] = few_tile<Arch, Values, 6, 1>();
    t.wide[7] = t.narrow[7] = few_tile<Arch, Values, 7, 1>();
    t.wide[8] = t.narrow[8] = few_tile<Arch, Values, 8, 1>();
    t.first[1] = add_blocks<Arch, Values, kFirstRows<Arch>, 1, true>;
    t.first[2] = add_blocks<Arch, Values, kFirstRows<Arch>, 2, true>;
  } else {
    t.first[1] = write_run<Arch, Values>;
  }
  return t;
}

template <class Arch, class Values>
constexpr PackedTiles<Arch> kPackedTiles = packed_tiles<Arch, Values>();

/// Compute up to kPackedGroup rows of some panels, a run of blocks at a time.
template <class Arch>
[[gnu::noinline]] void block_group(const BlockProduct& product, const PackedTiles<Arch>& tiles,
                                   int panels, int64_t col) RILL_NONBLOCKING {
  constexpr int kNr = kPanelColumns<Arch>;
  constexpr int64_t kMost = kRunValues<Arch>;
  const MatmulF32Args& g = product.g;
  const auto rows = static_cast<int>(g.m);
  const int shares = (rows - kFirstRows<Arch> + kMostRunRows - 1) / kMostRunRows;
  const FewRows place{col, rows, rows, panels * kPanelVecs<Arch>};
  const AddRun<Arch>* add =
      panels == 1 ? kAddRuns<Arch, 1>.of_rows : kAddRuns<Arch, kRunPanels<Arch>>.of_rows;
  alignas(64) float sums[kPackedGroup * kRunPanels<Arch> * kNr];
  BlockRun<Arch> run;
  run.scaled = product.format != PackedFormat::kF16;
  start_few<Arch>(g, place, sums);
  const std::byte* panel = product.b + col / kNr * product.panel_bytes;
  for (int64_t s = 0; s < g.segments; ++s) {
    const float* a = g.a + s * g.segment_stride;
    for (int64_t left = g.segment_len; left > 0; left -= kMost, a += kMost) {
      run.count = left < kMost ? left : kMost;
      tiles.first[panels](product, {a, g.lda, kFirstRows<Arch>}, panel, run.count, sums, &run);
      panel += packed_panel_bytes(product.format, run.count, kNr);
      for (int i = 0, row = kFirstRows<Arch>; i < shares; ++i) {
        const int take = (rows - row + shares - i - 1) / (shares - i);
        add[take](a + row * g.lda, g.lda, run, sums + row * panels * kNr);
        row += take;
      }
    }
  }
  finish_few<Arch>(g, place, sums);
}

/// Concatenate the segments of every row of A, with zeros up to a multiple of `unit`.
inline void join_segments(int64_t unit, float* to, MatmulF32Args* g) {
  const int64_t k = g->segments * g->segment_len, padded = (k + unit - 1) / unit * unit;
  for (int64_t row = 0; row < g->m; ++row) {
    float* at = to + row * padded;
    const float* from = g->a + row * g->lda;
    for (int64_t s = 0; s < g->segments; ++s, from += g->segment_stride) {
      for (int64_t p = 0; p < g->segment_len; ++p) *at++ = from[p];
    }
    for (int64_t p = k; p < padded; ++p) *at++ = 0.0f;
  }
  g->a = to;
  g->lda = padded;
  g->segments = 1;
  g->segment_len = padded;
}

/// Compute all columns of up to kPackedGroup rows.
template <class Arch>
RILL_INLINE void all_columns(const BlockProduct& product, const PackedTiles<Arch>& tiles) {
  constexpr int kNr = kPanelColumns<Arch>;
  const int64_t rows = product.g.m, n = product.g.n;
  int64_t col = 0;
  if (rows > kDirectRows<Arch>) {
    while (col < n) {
      const int panels = n - col < kRunPanels<Arch> * kNr ? 1 : kRunPanels<Arch>;
      block_group<Arch>(product, tiles, panels, col);
      col += panels * kNr;
    }
    return;
  }
  const FewTile<Arch>& wide = tiles.wide[rows];
  for (; col + wide.panels * kNr <= n; col += wide.panels * kNr) {
    block_tile<Arch>(product, wide, col);
  }
  for (; col < n; col += kNr) block_tile<Arch>(product, tiles.narrow[rows], col);
}

/// Compute all of C, for any number of rows.
template <class Arch>
[[gnu::noinline]] void matmul_rows(const MatmulPackedArgs& args, PackedFormat format,
                                   const PackedTiles<Arch>& tiles) RILL_NONBLOCKING {
  const MatmulF32Args& g = args.product;
  if (g.m <= 0 || g.n <= 0) return;
  BlockProduct product(g, args.b, format, kPanelColumns<Arch>);
  for (int64_t row = 0; row < g.m; row += kPackedGroup) {
    product.g = g;
    product.g.m = g.m - row < kPackedGroup ? g.m - row : kPackedGroup;
    product.g.a = g.a + row * g.lda;
    product.g.c = g.c + row * g.ldc;
    product.g.residual = g.residual == nullptr ? nullptr : g.residual + row * g.ldr;
    const bool words = format == PackedFormat::kQ4 || format == PackedFormat::kQ4_0;
    if (packed_joins(format, g)) join_segments(words ? kQ4Unit : 1, args.scratch, &product.g);
    all_columns<Arch>(product, tiles);
  }
}

template <class Arch, class Values>
RILL_INLINE void matmul_blocks(const MatmulPackedArgs& args, PackedFormat format) {
  matmul_rows<Arch>(args, format, kPackedTiles<Arch, Values>);
}

}  // namespace
}  // namespace rill::kernels
