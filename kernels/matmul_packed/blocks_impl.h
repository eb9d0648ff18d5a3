#pragma once

#include "kernels/matmul_packed/values_impl.h"

// Tiles of a matmul with a reduced-precision B, which is unpacked in registers. A block has 32
// values of k for the nr columns of a panel: nr scales, then the values. Every block is one chain
// over its unscaled values, and every element of C is one chain over the blocks, each times its
// scale. So a scale costs one multiply-add for 32 values, and any number of rows gives the same
// bits. Halves have no scales: every element of C is one chain, as in the f32 matmul.

namespace rill::kernels {
namespace {

/// The bytes of B beyond which blocks are prefetched: a smaller B is already in a cache.
constexpr int64_t kBlocksFar = 512 * 1024;

/// A matmul with a block-quantized B. All blocks of k except the last lie within one segment of A.
struct BlockProduct {
  MatmulF32Args g;
  const std::byte* b;
  PackedFormat format;
  int64_t panel_bytes;
  bool far;  ///< B is large: prefetch its blocks

  BlockProduct(const MatmulF32Args& args, const std::byte* packed, PackedFormat which, int64_t nr)
      : g(args),
        b(packed),
        format(which),
        panel_bytes(packed_panel_bytes(which, args.segments * args.segment_len, nr)),
        far(panel_bytes * args.n > kBlocksFar * nr) {}
};

/// Bytes of the scales of a block of a panel, and of a whole block.
template <class Arch, class Values>
constexpr int64_t kScaleBytes = Values::kBits == 16 ? 0 : kPanelColumns<Arch> * 2;
template <class Arch, class Values>
constexpr int64_t kBlockBytes =
    kScaleBytes<Arch, Values> + kPanelColumns<Arch> * kPackedBlock * Values::kBits / 8;

/// Prefetch a block that will be read some time after the one at `block`.
template <class Arch, class Values>
RILL_INLINE void fetch_block(const std::byte* block) {
#pragma GCC unroll 32
  for (int64_t line = 0; line < kBlockBytes<Arch, Values>; line += 64) {
    __builtin_prefetch(block + kBlocksAhead + line, 0, 2);
  }
}

/// The scales of a vector of columns.
template <class Arch, class Values>
RILL_INLINE Lanes<Arch> scales_at(PackedFormat format, const std::byte* from) {
  if constexpr (Values::kBits == 4) {
    if (format == PackedFormat::kQ4_0) return UpcastF16<Arch>::load(from);
  }
  return Narrow<Arch>::upper_halves(from);
}

/// Whether tiles of two panels have enough registers for their sums.
template <class Arch>
constexpr bool kManyRegisters = Ops<Arch>::kRegisters >= 32 && kPanelVecs<Arch> == 2;

/// The number of panels of a run.
template <class Arch>
constexpr int kRunPanels = kManyRegisters<Arch> ? 2 : 1;

/// The maximum number of values of k in a run: the floats of a run, which all rows share, fit in
/// 16 KiB.
template <class Arch>
constexpr int64_t kRunValues = 4096 / (kPanelColumns<Arch> * kRunPanels<Arch>);

/// A run of blocks of some panels as floats: scales, and unscaled values as [values][columns].
template <class Arch>
struct BlockRun {
  static constexpr int64_t kColumns = kPanelColumns<Arch> * kRunPanels<Arch>;
  int64_t count;  ///< of values
  bool scaled;    ///< false: every sum is one chain, without scales
  alignas(64) float scales[kRunValues<Arch> / kPackedBlock * kColumns];
  alignas(64) float values[kRunValues<Arch> * kColumns];
};

/// Rows of A for a tile: `rows` rows, then the last one repeated.
struct TileRows {
  const float* a;
  int64_t lda;
  int rows;

  RILL_INLINE const float* row(int r) const { return a + (r < rows ? r : rows - 1) * lda; }
};

/// Add the products of kRows rows and `count` values of k, unpacked in registers, to `sums`,
/// [rows][columns]. The blocks of the first panel begin at `panel`. With kKeep, `run` receives the
/// floats.
template <class Arch, class Values, int kRows, int kPanels, bool kKeep>
[[gnu::noinline]] void add_blocks(const BlockProduct& product, const TileRows& rows,
                                  const std::byte* panel, int64_t count, float* sums,
                                  BlockRun<Arch>* run) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kIn = kPanelVecs<Arch>, kVecs = kPanels * kIn, kLanes = S::kLanes;
  constexpr bool kScaled = Values::kBits != 16;
  constexpr bool kShort = kKeep || kRows > 4;
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) a[r] = rows.row(r);
  const std::byte* blocks[kPanels];
#pragma GCC unroll 32
  for (int i = 0; i < kPanels; ++i) blocks[i] = panel + i * product.panel_bytes;
  float* to = kKeep ? run->values : nullptr;
  float* scales = kKeep ? run->scales : nullptr;
  const int64_t unit = kScaled ? kPackedBlock : count;
  for (int64_t p = 0; p < count; p += unit) {
    if (kScaled && product.far) {
#pragma GCC unroll 32
      for (const std::byte* block : blocks) fetch_block<Arch, Values>(block);
    }
    V part[kRows][kVecs];
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        part[r][j] = kScaled ? V(0.0f) : V::load_aligned(sums + (r * kVecs + j) * kLanes);
      }
    }
    const std::byte* values[kPanels];
#pragma GCC unroll 32
    for (int i = 0; i < kPanels; ++i) values[i] = blocks[i] + kScaleBytes<Arch, Values>;
    const int64_t left = count - p;
    Values::template read<kPanels, kShort>(
        values, left < unit ? left : unit,
        [&](int64_t at, int i, const V(&of_k)[kIn]) RILL_INLINE_LAMBDA {
          if constexpr (kKeep) {
#pragma GCC unroll 32
            for (int j = 0; j < kIn; ++j, to += kLanes) of_k[j].store_aligned(to);
          }
#pragma GCC unroll 32
          for (int r = 0; r < kRows; ++r) {
            const V av(a[r][p + at]);
#pragma GCC unroll 32
            for (int j = 0; j < kIn; ++j) {
              part[r][i * kIn + j] = S::madd(av, of_k[j], part[r][i * kIn + j]);
            }
          }
        });
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      V scale(1.0f);
      if constexpr (kScaled) {
        scale = scales_at<Arch, Values>(product.format, blocks[j / kIn] + j % kIn * kLanes * 2);
        if constexpr (kKeep) {
          scale.store_aligned(scales);
          scales += kLanes;
        }
      }
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        float* sum = sums + (r * kVecs + j) * kLanes;
        const V v = kScaled ? S::madd(part[r][j], scale, V::load_aligned(sum)) : part[r][j];
        v.store_aligned(sum);
      }
    }
#pragma GCC unroll 32
    for (const std::byte*& block : blocks) {
      block += kBlockBytes<Arch, Values>;
    }
  }
}

/// `add_blocks`, or a function that only unpacks a run.
template <class Arch>
using AddBlocks = void (*)(const BlockProduct& product, const TileRows& rows,
                           const std::byte* panel, int64_t count, float* sums,
                           BlockRun<Arch>* run) RILL_NONBLOCKING;

/// A tile of few rows and the vectors of its sums.
template <class Arch>
struct FewTile {
  AddBlocks<Arch> add = nullptr;
  int rows = 0, panels = 0;
};
constexpr int kMostSums = 16;

/// Compute all rows of some panels from column `col` on.
template <class Arch>
[[gnu::noinline]] void block_tile(const BlockProduct& product, const FewTile<Arch>& tile,
                                  int64_t col) RILL_NONBLOCKING {
  constexpr int kNr = kPanelColumns<Arch>;
  const MatmulF32Args& g = product.g;
  const auto rows = static_cast<int>(g.m);
  const FewRows place{col, rows, tile.rows, tile.panels * kPanelVecs<Arch>};
  alignas(64) float sums[kMostSums * Ops<Arch>::kLanes];
  start_few<Arch>(g, place, sums);
  const std::byte* panel = product.b + col / kNr * product.panel_bytes;
  for (int64_t s = 0; s < g.segments; ++s) {
    tile.add(product, {g.a + s * g.segment_stride, g.lda, rows}, panel, g.segment_len, sums,
             nullptr);
    panel += packed_panel_bytes(product.format, g.segment_len, kNr);
  }
  finish_few<Arch>(g, place, sums);
}

}  // namespace
}  // namespace rill::kernels
