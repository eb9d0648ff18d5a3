#pragma once

#include <type_traits>

#include "kernels/simd/dense_impl.h"
#include "kernels/matmul/matmul_args.h"

namespace rill::kernels {
namespace {

/// The maximum number of sums in a tile: all registers except those for a row of B, a value of A
/// and, on SSE4.2, a product.
template <class Arch>
constexpr int kMaxSums = Ops<Arch>::kRegisters * 3 / 4;
template <class Arch>
constexpr int kMaxRows = kMaxSums<Arch> / kPanelVecs<Arch>;
/// The panels per tile of few rows: enough independent sums to hide the latency.
constexpr int kMaxPanels = 4;

/// The part of a row of A that one block of k covers, segment by segment.
struct KRange {
  int64_t a_offset;   // from the row's first value
  int64_t first_run;  // values up to the end of the first segment
  int64_t run, gap;   // values per segment; from a segment's end to the next segment
  int64_t begin, count;
};

/// Set the range field by field: copying a whole one would stall on the stores of its fields.
RILL_INLINE void set_k_range(const MatmulF32Args& g, int64_t begin, int64_t count, KRange* r) {
  r->a_offset = begin;
  r->first_run = count;
  r->run = g.segment_len;
  r->gap = g.segment_stride - g.segment_len;
  r->begin = begin;
  r->count = count;
  if (g.segments <= 1 || count <= 0) return;
  if (begin == 0) {  // most calls: no division
    r->first_run = g.segment_len;
    return;
  }
  const int64_t segment = begin / g.segment_len, within = begin - segment * g.segment_len;
  r->a_offset = segment * g.segment_stride + within;
  r->first_run = g.segment_len - within;
}

/// Rows of C by panels of B, as one call of a tile computes them.
struct TileArgs {
  const float* a;
  int64_t lda;
  KRange k;
  const float* b;  // the first panel, at k.begin
  int64_t panel_stride;
  int64_t b_step;  // floats from one value of k to the next: columns of a panel
  float* c;
  int64_t ldc;
  int64_t cols;       // columns to store, counted from the first panel's first
  bool from_c;        // the chain starts from c
  const float* bias;  // of the first column, or null
  const float* residual;
  int64_t ldr;
  bool clip;
  float lo, hi;
};

/// Return the first column of vector j in a tile with `vecs` vectors per panel.
template <class Arch>
RILL_INLINE constexpr int64_t tile_column(int j, int vecs) {
  return (j / vecs * kPanelVecs<Arch> + j % vecs) * Ops<Arch>::kLanes;
}

/// The place of a tile in C: rows of `panels` panels with `vecs` vectors each.
struct TileShape {
  int rows, panels, vecs;
};

/// Load a tile of C, or the bias in each row, into `sums`, [rows][panels * vecs] vectors, with
/// zeros past the last column.
template <class Arch>
[[gnu::noinline]] void fetch_tile(const TileArgs& t, TileShape shape, float* sums) {
  using S = Ops<Arch>;
  const float* from = t.from_c ? t.c : t.bias;
  const int64_t row_stride = t.from_c ? t.ldc : 0;
  for (int r = 0; r < shape.rows; ++r, from += row_stride) {
    for (int j = 0; j < shape.panels * shape.vecs; ++j, sums += S::kLanes) {
      const int64_t col = tile_column<Arch>(j, shape.vecs);
      S::load_partial(from + col, t.cols - col).store_aligned(sums);
    }
  }
}

/// Add the residual to whole vectors of sums, kVecs of each panel, clip them and store them to C.
template <class Arch, int kVecs>
RILL_INLINE void finish_whole(const TileArgs& t, TileShape shape, const float* sums) {
  using V = Lanes<Arch>;
  constexpr int kLanes = Ops<Arch>::kLanes;
  const Clip<Arch> clip(t.clip, t.lo, t.hi);
  const int64_t ldc = t.ldc, ldr = t.residual == nullptr ? 0 : t.ldr;
  const float* residual = t.residual;
  float* c = t.c;
  const int64_t cols = shape.panels * kVecs * kLanes;
  for (int r = 0; r < shape.rows; ++r, c += ldc, residual += ldr) {
    for (int64_t col = 0; col < cols; col += kVecs * kLanes) {
      V v[kVecs];
#pragma GCC unroll 8
      for (int i = 0; i < kVecs; ++i, sums += kLanes) v[i] = V::load_aligned(sums);
      if (residual != nullptr) {
        const float* more = residual + col;
#pragma GCC unroll 8
        for (int i = 0; i < kVecs; ++i) v[i] = v[i] + V::load_unaligned(more + i * kLanes);
      }
      if (clip.low) {
#pragma GCC unroll 8
        for (int i = 0; i < kVecs; ++i) v[i] = math::max_or_second(clip.lo, v[i]);
      }
      if (clip.high) {
#pragma GCC unroll 8
        for (int i = 0; i < kVecs; ++i) v[i] = math::min_or_second(clip.hi, v[i]);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kVecs; ++i) v[i].store_unaligned(c + col + i * kLanes);
    }
  }
}

/// Add the residual to the sums, clip them and store them to C, no column past the last one.
template <class Arch>
[[gnu::noinline]] void finish_tile(const TileArgs& t, TileShape shape, const float* sums) {
  using S = Ops<Arch>;
  if (t.cols >= shape.panels * shape.vecs * S::kLanes) {
    if (shape.vecs == 1) return finish_whole<Arch, 1>(t, shape, sums);
    if (shape.vecs == 2) return finish_whole<Arch, 2>(t, shape, sums);
    if constexpr (kPanelVecs<Arch> > 2) {
      if (shape.vecs == 3) return finish_whole<Arch, 3>(t, shape, sums);
      return finish_whole<Arch, 4>(t, shape, sums);
    }
  }
  const Clip<Arch> clip(t.clip, t.lo, t.hi);
  for (int r = 0; r < shape.rows; ++r) {
    for (int j = 0; j < shape.panels * shape.vecs; ++j, sums += S::kLanes) {
      const int64_t col = tile_column<Arch>(j, shape.vecs);
      auto v = Lanes<Arch>::load_aligned(sums);
      if (t.residual != nullptr) {
        v = v + S::load_partial(t.residual + r * t.ldr + col, t.cols - col);
      }
      S::store_partial(t.c + r * t.ldc + col, clip.apply(v), t.cols - col);
    }
  }
}

/// The size of B, in floats, beyond which no part of it is still in a cache when needed, and the
/// prefetch distance then. Only 512-bit loads gain from it.
constexpr int64_t kFarFloats = 8 * 1024 * 1024;
constexpr int kFarAhead = 4096;
template <class Arch>
constexpr bool kHasFar = Ops<Arch>::kLanes == 16;

/// A tile of kRows rows by the first kVecs vectors of each of kPanels panels. The sums stay in
/// registers for the whole block of k. Rare operations before and after it run in memory, which
/// keeps the many tiles small. With kFar, the tile prefetches B further ahead than the hardware,
/// for a B that no cache holds. All members compile into one function, `tile`.
template <class Arch, int kRows, int kPanels, int kVecs, bool kFar>
struct OneTile {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  static constexpr int kNr = kPanelVecs<Arch> * S::kLanes;
  static constexpr int kWide = kPanels * kVecs;
  static constexpr bool kNarrow = kPanels == 1 && kVecs < kPanelVecs<Arch>;
  static constexpr int kGroups = (kRows + 2) / 3;
  static constexpr TileShape kShape{kRows, kPanels, kVecs};
  static constexpr bool kMaskedInTile = S::kMaskedStores && (kRows * kWide <= 8 || kWide == 1);
  using Sums = V[kRows][kWide];
  using Memory = float[kRows * kWide * S::kLanes];

  /// Start from C, from the bias, or from 0.
  static RILL_INLINE void start(const TileArgs& t, bool whole, Memory& sums, Sums& acc) {
    if (t.from_c || (!kMaskedInTile && !whole && t.bias != nullptr)) {
      fetch_tile<Arch>(t, kShape, sums);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
        for (int j = 0; j < kWide; ++j) {
          acc[r][j] = V::load_aligned(sums + (r * kWide + j) * S::kLanes);
        }
      }
    } else {
#pragma GCC unroll 32
      for (int j = 0; j < kWide; ++j) {
        const int64_t col = tile_column<Arch>(j, kVecs);
        V start(0.0f);
        if (t.bias != nullptr) {
          start = !kMaskedInTile || whole ? V::load_unaligned(t.bias + col)
                                          : S::load_partial(t.bias + col, t.cols - col);
        }
#pragma GCC unroll 32
        for (int r = 0; r < kRows; ++r) acc[r][j] = start;
      }
    }
  }

  // The registers that neither the sums nor the shorter side use.
  static constexpr int kFree = S::kRegisters - kRows * kWide - (kRows < kWide ? kRows : kWide);

  /// Add the products of one value of k. The shorter side stays in registers, and the longer one
  /// streams through: compilers would load all of it first, and run out of registers.
  template <class From>
  static RILL_INLINE void add(From& from, Sums& acc) {
    if constexpr (kRows < kWide) {
      constexpr int kAhead = kFree / kVecs < 1 ? 1 : kFree / kVecs;
      V av[kRows];
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) av[r] = V(from.value(r));
#pragma GCC unroll 32
      for (int j = 0; j < kWide; ++j) {
        if (j % kVecs == 0 && j / kVecs >= kAhead) {
#pragma GCC unroll 32
          for (int r = 0; r < kRows; ++r) {
            from.template wait_for<kVecs>(from.panel(j / kVecs), &acc[r][j - kAhead * kVecs]);
          }
        }
        const float* at = from.panel(j / kVecs) + j % kVecs * S::kLanes;
        const V bv = V::load_aligned(at);
        if constexpr (kFar) __builtin_prefetch(at + kFarAhead, 0, 2);
#pragma GCC unroll 32
        for (int r = 0; r < kRows; ++r) acc[r][j] = S::madd(av[r], bv, acc[r][j]);
      }
    } else {
      constexpr int kAhead = kFree < 2 ? 1 : kFree - 1;
      V bv[kWide];
#pragma GCC unroll 32
      for (int j = 0; j < kWide; ++j) {
        bv[j] = V::load_aligned(from.panel(j / kVecs) + j % kVecs * S::kLanes);
      }
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        if (r >= kAhead) from.template wait_for<kWide>(from.row(r), &acc[r - kAhead][0]);
        const V av(from.value(r));
#pragma GCC unroll 32
        for (int j = 0; j < kWide; ++j) acc[r][j] = S::madd(av, bv[j], acc[r][j]);
      }
    }
  }

  /// For few registers: three rows of A share one address (base, base + lda, base + 2 * lda), and
  /// all panels of B are addressed relative to the first.
  struct ByGroups {
    const float* a[kGroups];
    int64_t lda, panel_stride, step;
    const float* b;

    RILL_INLINE explicit ByGroups(const TileArgs& t)
        : lda(t.lda), panel_stride(t.panel_stride), step(kNarrow ? t.b_step : kNr), b(t.b) {
#pragma GCC unroll 32
      for (int g = 0; g < kGroups; ++g) a[g] = t.a + t.k.a_offset + 3 * g * t.lda;
    }
    RILL_INLINE const float* row(int r) const { return a[r / 3] + (r % 3) * lda; }
    RILL_INLINE float value(int r) const { return *row(r); }
    RILL_INLINE const float* panel(int i) const { return b + i * panel_stride; }
    template <int kCount>
    RILL_INLINE void wait_for(const float*, const V*) const {}
    RILL_INLINE void skip(int64_t count) {
#pragma GCC unroll 32
      for (int g = 0; g < kGroups; ++g) a[g] += count;
    }
    RILL_INLINE void add_run(int64_t run, Sums& acc) {
#pragma GCC unroll 2
      for (int64_t p = 0; p < run; ++p) {
        add(*this, acc);
        skip(1);
        b += step;
      }
    }
  };

  /// A pointer in a register for each row, to the end of a run, and for each panel: an iteration
  /// takes two instructions besides its loads and products, so unrolling gains nothing.
  struct ByPointers {
    const float* a[kRows];
    const float* b[kPanels];
    int64_t p = 0, step;

    RILL_INLINE explicit ByPointers(const TileArgs& t) : step(kNarrow ? t.b_step : kNr) {
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) a[r] = t.a + t.k.a_offset + r * t.lda;
#pragma GCC unroll 32
      for (int i = 0; i < kPanels; ++i) b[i] = t.b + i * t.panel_stride;
    }
    RILL_INLINE const float*& row(int r) { return a[r]; }
    RILL_INLINE float value(int r) const { return a[r][p]; }
    RILL_INLINE const float*& panel(int i) { return b[i]; }
    template <int kCount>
    RILL_INLINE void wait_for(const float*& address, V* sums) const {
#pragma GCC unroll 32
      for (int i = 0; i < kCount; ++i) S::wait(address, sums[i]);
    }
    RILL_INLINE void skip(int64_t count) {
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) a[r] += count;
    }
    RILL_INLINE void add_run(int64_t run, Sums& acc) {
      skip(run);
#pragma GCC unroll 1
      for (p = -run; p != 0; ++p) {
        add(*this, acc);
#pragma GCC unroll 32
        for (int i = 0; i < kPanels; ++i) S::keep(b[i] += step);
      }
    }
  };

  static RILL_INLINE void add_all(const TileArgs& t, Sums& acc) {
    std::conditional_t<S::kManyPointers, ByPointers, ByGroups> from(t);
    int64_t left = t.k.count, run = t.k.first_run;
    while (left > 0) {
      if (run > left) run = left;
      left -= run;
      from.add_run(run, acc);
      from.skip(t.k.gap);
      run = t.k.run;
    }
  }

  /// Return whether to finish the sums in memory: for partial columns, and on machines with many
  /// registers for rarely used options, whose inlined code would be long.
  static RILL_INLINE bool in_memory(const TileArgs& t, bool whole) {
    if (!whole && !kMaskedInTile) return true;
    if (t.residual != nullptr) return S::kManyPointers || (!whole && kWide > 1);
    return S::kReluAlone && t.clip && !(is_relu(t) && t.k.count > 0);
  }
  static RILL_INLINE bool is_relu(const TileArgs& t) {
    return __builtin_bit_cast(uint32_t, t.lo) == 0 && t.hi == __builtin_inff();
  }

  /// Add the residual and clip, unless the sums finish in memory.
  static RILL_INLINE void finish(const TileArgs& t, bool whole, Sums& acc) {
    if constexpr (S::kReluAlone) {
      if (!t.clip) return;
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
        for (int j = 0; j < kWide; ++j) acc[r][j] = S::above_zero(acc[r][j]);
      }
      return;
    }
    if (!S::kManyPointers && t.residual != nullptr) {
      const float* residual = t.residual;
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r, residual += t.ldr) {
#pragma GCC unroll 32
        for (int j = 0; j < kWide; ++j) {
          const int64_t col = tile_column<Arch>(j, kVecs);
          acc[r][j] = acc[r][j] + (kWide > 1 || whole
                                       ? V::load_unaligned(residual + col)
                                       : S::load_partial(residual + col, t.cols - col));
        }
      }
    }
    const Clip<Arch> clip(t.clip, t.lo, t.hi);
    if (clip.low) {
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
        for (int j = 0; j < kWide; ++j) acc[r][j] = math::max_or_second(clip.lo, acc[r][j]);
      }
    }
    if (clip.high) {
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
        for (int j = 0; j < kWide; ++j) acc[r][j] = math::min_or_second(clip.hi, acc[r][j]);
      }
    }
  }

  static RILL_INLINE void store(const TileArgs& t, bool whole, const Sums& acc) {
    float* c = t.c;
    const int64_t ldc = t.ldc, cols = t.cols;  // loaded once, since c may alias them
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r, c += ldc) {
#pragma GCC unroll 32
      for (int j = 0; j < kWide; ++j) {
        const int64_t col = tile_column<Arch>(j, kVecs);
        if (!kMaskedInTile || whole) {
          acc[r][j].store_unaligned(c + col);
        } else {
          S::store_partial(c + col, acc[r][j], cols - col);
        }
      }
    }
  }
};

/// Compute one tile.
template <class Arch, int kRows, int kPanels, int kVecs, bool kFar = false>
[[gnu::noinline]] void tile(const TileArgs& t) RILL_NONBLOCKING {
  using One = OneTile<Arch, kRows, kPanels, kVecs, kFar>;
  const bool whole = t.cols >= (kPanels - 1) * One::kNr + kVecs * Ops<Arch>::kLanes;
  alignas(64) typename One::Memory sums;
  typename One::Sums acc;
  One::start(t, whole, sums, acc);
  One::add_all(t, acc);
  if (One::in_memory(t, whole)) {
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
      for (int j = 0; j < One::kWide; ++j) {
        acc[r][j].store_aligned(sums + (r * One::kWide + j) * Ops<Arch>::kLanes);
      }
    }
    finish_tile<Arch>(t, One::kShape, sums);
    return;
  }
  One::finish(t, whole, acc);
  One::store(t, whole, acc);
}

}  // namespace
}  // namespace rill::kernels
