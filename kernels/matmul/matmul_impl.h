#pragma once

#include "kernels/matmul/tile_impl.h"

namespace rill::kernels {
namespace {

using Tile = void (*)(const TileArgs&) RILL_NONBLOCKING;

/// Tiles by rows and panels; `narrow` holds the tiles for one panel with fewer vectors. Index 0
/// holds the one-row tiles used when B is not in cache.
template <class Arch>
struct Tiles {
  Tile whole[kMaxRows<Arch> + 1][kMaxPanels + 1] = {};
  Tile narrow[kMaxRows<Arch> + 1][kPanelVecs<Arch>] = {};
  int max_panels[kMaxRows<Arch> + 1] = {};

  template <int kRows, int kPanels>
  constexpr void add_panels() {
    constexpr int kSums = kRows * kPanels * kPanelVecs<Arch>;
    constexpr int kMost = kRows == 1 && Ops<Arch>::kMostOfRow < kMaxSums<Arch>
                              ? Ops<Arch>::kMostOfRow
                              : kMaxSums<Arch>;
    if constexpr (kPanels == 1 || (kPanels <= kMaxPanels && kSums <= kMost)) {
      whole[kRows][kPanels] = tile<Arch, kRows, kPanels, kPanelVecs<Arch>>;
      max_panels[kRows] = kPanels;
      add_panels<kRows, kPanels + 1>();
    }
  }
  template <int kRows, int kVecs>
  constexpr void add_narrow() {
    if constexpr (kVecs < kPanelVecs<Arch>) {
      narrow[kRows][kVecs] = tile<Arch, kRows, 1, kVecs>;
      add_narrow<kRows, kVecs + 1>();
    }
  }
  template <int kRows>
  constexpr void add_rows() {
    add_panels<kRows, 1>();
    add_narrow<kRows, 1>();
    if constexpr (kRows < kMaxRows<Arch>) add_rows<kRows + 1>();
  }
  constexpr Tiles() {
    add_rows<1>();
    max_panels[0] = max_panels[1];
    for (int panels = 1; panels <= kMaxPanels; ++panels) whole[0][panels] = whole[1][panels];
    if constexpr (kHasFar<Arch>) {
      whole[0][kMaxPanels] = tile<Arch, 1, kMaxPanels, kPanelVecs<Arch>, true>;
    }
    for (int vecs = 1; vecs < kPanelVecs<Arch>; ++vecs) narrow[0][vecs] = narrow[1][vecs];
  }
};

template <class Arch>
constexpr Tiles<Arch> kTiles{};

/// ceil(a / b) for a >= 0, b > 0. b is usually 1 or a constant; a division would slow down small
/// matmuls.
RILL_INLINE int64_t ceil_div(int64_t a, int64_t b) {
  if (b == 1) return a;
  return static_cast<int64_t>(static_cast<uint64_t>(a + b - 1) / static_cast<uint64_t>(b));
}

/// Compute `rows` rows, at most kMaxRows, by `panels` panels with `cols` columns in total. `t` is
/// set up for the first panel and advances in place, because a copy would cost as much as a small
/// tile.
template <class Arch>
RILL_INLINE void row_block(TileArgs& t, int64_t rows, int64_t panels, int64_t cols) {
  constexpr int kNr = kPanelVecs<Arch> * Ops<Arch>::kLanes;
  // Groups of nearly equal size: a last group of one panel has too few independent sums to hide
  // latency.
  const int64_t most = kTiles<Arch>.max_panels[rows];
  const int64_t groups = panels <= most ? 1 : ceil_div(panels, most);
  for (int64_t i = 0; i < groups; ++i) {
    const int64_t take = ceil_div(panels, groups - i);
    t.cols = cols < take * kNr ? cols : take * kNr;
    const int64_t vecs = ceil_div(t.cols, Ops<Arch>::kLanes);
    if (take == 1 && vecs < kPanelVecs<Arch>) {
      kTiles<Arch>.narrow[rows][vecs](t);
    } else {
      kTiles<Arch>.whole[rows][take](t);
    }
    t.b += take * t.panel_stride;
    t.c += take * kNr;
    if (t.bias != nullptr) t.bias += take * kNr;
    if (t.residual != nullptr) t.residual += take * kNr;
    panels -= take;
    cols -= take * kNr;
  }
}

/// Values of k per pass, and floats of B per block: a block of B stays in the second cache level
/// while the loop visits all rows, and a few rows of A stay in the first.
constexpr int64_t kBlockK = 512;
constexpr int64_t kBlockFloats = 64 * 1024;

/// The number of rows per tile. With 32 registers of 512 bits, half the rows by two panels load
/// less per multiply-add, which helps if another thread shares the core, unless much of the second
/// panel is empty.
template <class Arch>
RILL_INLINE int64_t rows_of_block(int64_t m, int64_t n) {
  constexpr int64_t kNr = kPanelVecs<Arch> * Ops<Arch>::kLanes;
  constexpr bool kHalf = Ops<Arch>::kRegisters == 32 && Ops<Arch>::kLanes == 16;
  const bool full = n > kNr && (n % kNr == 0 || n > 8 * kNr);
  return kHalf && full && m > kMaxRows<Arch> ? kMaxRows<Arch> / 2 : kMaxRows<Arch>;
}

/// Apply the leaky ReLU and the limits to C after all sums: inside the tiles this would double
/// their code.
template <class Arch>
[[gnu::noinline]] void finish_rows(const MatmulF32Args& g) {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  const V slope(g.slope);
  const Clip<Arch> clip(g.clip, g.lo, g.hi);
  const auto finished = [&](V v) { return clip.apply(math::max_or_second(v * slope, v)); };
  float* c = g.c;
  const bool flat = g.ldc == g.n;  // contiguous rows form one
  const int64_t rows = flat ? 1 : g.m, columns = flat ? g.m * g.n : g.n;
  for (int64_t r = 0; r < rows; ++r, c += g.ldc) {
    int64_t col = 0;
    for (; col + S::kLanes <= columns; col += S::kLanes) {
      finished(V::load_unaligned(c + col)).store_unaligned(c + col);
    }
    if (col < columns) {
      S::store_partial(c + col, finished(S::load_partial(c + col, columns - col)), columns - col);
    }
  }
}

/// Compute a matmul of a single tile. For a step of one frame, the loop overhead of larger matmuls
/// would exceed the matmul itself.
template <class Arch>
RILL_INLINE void one_tile(const MatmulF32Args& g) {
  constexpr int kNr = kPanelVecs<Arch> * Ops<Arch>::kLanes;
  const int64_t k = g.segments * g.segment_len;
  const int64_t vecs = ceil_div(g.n, Ops<Arch>::kLanes);
  TileArgs t;
  t.a = g.a;
  t.lda = g.lda;
  set_k_range(g, 0, k, &t.k);
  t.b = g.b;
  t.panel_stride = k * kNr;
  t.b_step = g.whole_panels ? kNr : vecs * Ops<Arch>::kLanes;
  t.c = g.c;
  t.ldc = g.ldc;
  t.cols = g.n;
  t.from_c = g.accumulate;
  t.bias = g.bias;
  t.residual = g.residual;
  t.ldr = g.ldr;
  const bool late = g.slope != 1.0f;
  t.clip = g.clip && !late;
  t.lo = g.lo;
  t.hi = g.hi;
  (vecs < kPanelVecs<Arch> ? kTiles<Arch>.narrow[g.m][vecs] : kTiles<Arch>.whole[g.m][1])(t);
  if (late) finish_rows<Arch>(g);
}

template <class Arch>
void matmul(const MatmulF32Args& g) {
  constexpr int kNr = kPanelVecs<Arch> * Ops<Arch>::kLanes;
  if (g.m <= 0 || g.n <= 0) return;
  if (g.m <= kMaxRows<Arch> && g.n <= kNr) return one_tile<Arch>(g);
  const int64_t k = g.segments * g.segment_len, panels = ceil_div(g.n, kNr);
  const int64_t row_blocks = ceil_div(g.m, rows_of_block<Arch>(g.m, g.n));
  const bool far = kHasFar<Arch> && g.m == 1 && k * g.n >= kFarFloats;
  // One block of rows reads B only once. If the residual is c itself, a partial sum would overwrite
  // it. Each further block of k continues the chain in c.
  const bool split = row_blocks > 1 && k > kBlockK && g.residual != g.c;
  const int64_t k_blocks = split ? ceil_div(k, kBlockK) : 1;
  const bool late = g.slope != 1.0f;
  // A single panel is packed without its empty vectors.
  const int64_t vectors = ceil_div(g.n, Ops<Arch>::kLanes) * Ops<Arch>::kLanes;
  const int64_t b_step = vectors < kNr && !g.whole_panels ? vectors : kNr;
  for (int64_t kb = 0, k_begin = 0; kb < k_blocks; ++kb) {
    const int64_t k_count = ceil_div(k - k_begin, k_blocks - kb);
    const bool last = kb == k_blocks - 1;
    TileArgs t;
    t.lda = g.lda;
    set_k_range(g, k_begin, k_count, &t.k);
    t.panel_stride = k * kNr;
    t.b_step = b_step;
    t.ldc = g.ldc;
    t.from_c = g.accumulate || kb > 0;
    t.ldr = g.ldr;
    t.clip = last && g.clip && !late;
    t.lo = g.lo;
    t.hi = g.hi;
    int64_t block = panels;
    if (row_blocks > 1) {
      const int64_t fit = kBlockFloats / (kNr * (k_count > 0 ? k_count : 1));
      if (panels > fit) block = ceil_div(panels, ceil_div(panels, fit > 0 ? fit : 1));
    }
    for (int64_t panel = 0; panel < panels; panel += block) {
      const int64_t take = panels - panel < block ? panels - panel : block;
      const int64_t col = panel * kNr;
      for (int64_t i = 0, row = 0; i < row_blocks; ++i) {
        const int64_t rows = ceil_div(g.m - row, row_blocks - i);
        t.a = g.a + row * g.lda;
        t.b = g.b + panel * t.panel_stride + k_begin * b_step;
        t.bias = g.bias == nullptr ? nullptr : g.bias + col;
        t.c = g.c + row * g.ldc + col;
        t.residual = last && g.residual != nullptr ? g.residual + row * g.ldr + col : nullptr;
        row_block<Arch>(t, far ? 0 : rows, take, g.n - col);
        row += rows;
      }
    }
    k_begin += k_count;
  }
  if (late) finish_rows<Arch>(g);
}

}  // namespace
}  // namespace rill::kernels
