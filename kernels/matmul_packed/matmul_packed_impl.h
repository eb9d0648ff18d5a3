#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/matmul/lanes_impl.h"
#include "kernels/half/half_bits.h"
#include "kernels/matmul_packed/matmul_packed_args.h"

// B lies in panels of nr columns; a panel is a run of blocks along k, each of the nr columns.
// A format tells its block: how many k it has, its bytes, and how to make floats of it. Those are
// exact, so that products have the bits that they have with B written out. It tells as well
// how many panels a tile takes at most.

#define RILL_INLINE_LAMBDA __attribute__((always_inline))

namespace rill::kernels {
namespace {

template <class Arch>
using Ints = xsimd::batch<int32_t, Arch>;

/// Halves as floats; where the CPU does not widen them itself, by their bits.
template <class Arch>
struct Halves {
  static RILL_INLINE Lanes<Arch> load(const std::byte* p) {
    constexpr int kLanes = Ops<Arch>::kLanes;
    alignas(64) uint32_t bits[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      uint16_t half;
      std::memcpy(&half, p + 2 * i, 2);
      bits[i] = float_bits_of_half(half);
    }
    alignas(64) float values[kLanes];
    std::memcpy(values, bits, sizeof values);
    return Lanes<Arch>::load_aligned(values);
  }
};
#if defined(__AVX2__) && defined(__FMA__)
template <>
struct Halves<Avx2> {
  static RILL_INLINE Lanes<Avx2> load(const std::byte* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};
#endif
#if defined(__AVX512BW__)
template <>
struct Halves<Avx512> {
  static RILL_INLINE Lanes<Avx512> load(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
};
#endif
#if defined(__aarch64__)
template <>
struct Halves<Neon> {
  static RILL_INLINE Lanes<Neon> load(const std::byte* p) {
    uint16_t bits[4];
    std::memcpy(bits, p, sizeof bits);
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(bits)));
  }
};
#endif

/// The nibble number kAt of every lane, two's complement, as a float.
template <class Arch, int kAt>
RILL_INLINE Lanes<Arch> nibble(Ints<Arch> word) {
#if defined(__AVX512BW__)
  if constexpr (std::is_same_v<Arch, Avx512>) {
    const __m512 values = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(word, 4 * kAt), values);
  } else
#endif
  {
    if constexpr (kAt < 7) word = word << (28 - 4 * kAt);
    return xsimd::to_float(word >> 28);
  }
}

/// Blocks of 32 values of k: nr scales, then four words of eight nibbles for every column.
template <class Arch>
struct Q4 {
  static constexpr int kCount = 32;
  static constexpr int kNr = kPanelVecs<Arch> * Ops<Arch>::kLanes;
  static constexpr int64_t kBytes = kNr * 18;
  static constexpr int kMostPanels = Ops<Arch>::kRegisters >= 32 ? 2 : 1;

  /// Call f(k, values) for every k of the block, with the values of kVecs vectors of columns;
  /// `blocks` has the block of each vector's panel.
  template <int kVecs, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kVecs], F&& f) {
    using V = Lanes<Arch>;
    V scale[kVecs];
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      scale[j] = Halves<Arch>::load(blocks[j] + j % kPanelVecs<Arch> * Ops<Arch>::kLanes * 2);
    }
    for (int w = 0; w < 4; ++w) {
      Ints<Arch> word[kVecs];
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        const int64_t at = w * kNr + j % kPanelVecs<Arch> * Ops<Arch>::kLanes;
        word[j] = Ints<Arch>::load_unaligned(
            reinterpret_cast<const int32_t*>(blocks[j] + kNr * 2 + at * 4));
      }
      const auto one = [&]<int kAt>(std::integral_constant<int, kAt>) RILL_INLINE_LAMBDA {
        V values[kVecs];
#pragma GCC unroll 32
        for (int j = 0; j < kVecs; ++j) values[j] = nibble<Arch, kAt>(word[j]) * scale[j];
        f(w * 8 + kAt, values);
      };
      one(std::integral_constant<int, 0>{});
      one(std::integral_constant<int, 1>{});
      one(std::integral_constant<int, 2>{});
      one(std::integral_constant<int, 3>{});
      one(std::integral_constant<int, 4>{});
      one(std::integral_constant<int, 5>{});
      one(std::integral_constant<int, 6>{});
      one(std::integral_constant<int, 7>{});
    }
  }
};

/// Rows of nr halves.
template <class Arch>
struct F16 {
  static constexpr int kCount = 1;
  static constexpr int kNr = kPanelVecs<Arch> * Ops<Arch>::kLanes;
  static constexpr int64_t kBytes = kNr * 2;
  static constexpr int kMostPanels = 4;

  /// Call f(0, values) as `Q4::read` does.
  template <int kVecs, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kVecs], F&& f) {
    Lanes<Arch> values[kVecs];
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      constexpr int kIn = kPanelVecs<Arch>;
      values[j] = Halves<Arch>::load(blocks[j / kIn * kIn] + j % kIn * Ops<Arch>::kLanes * 2);
    }
    f(0, values);
  }
};

/// Write a panel out as the f32 product wants it.
template <class Arch, class Format>
void write_out(const std::byte* panel, int64_t k, float* to) {
  constexpr int kVecs = kPanelVecs<Arch>;
  for (int64_t p = 0; p < k; p += Format::kCount, panel += Format::kBytes) {
    const std::byte* blocks[kVecs];
#pragma GCC unroll 32
    for (const std::byte*& block : blocks) block = panel;
    Format::template read<kVecs>(blocks,
                                 [&](int at, const Lanes<Arch>(&values)[kVecs]) RILL_INLINE_LAMBDA {
                                   float* row = to + (p + at) * Format::kNr;
#pragma GCC unroll 32
                                   for (int j = 0; j < kVecs; ++j)
                                     values[j].store_aligned(row + j * Ops<Arch>::kLanes);
                                 });
  }
}

/// Sums that a tile of few rows may hold: the values of B take as many registers again.
template <class Arch>
constexpr int kFewSums = Ops<Arch>::kRegisters / 2;

/// Where a tile of few rows lies in C. It computes `tile_rows` and stores `rows` of them; past those
/// it computes the last one again.
struct FewRows {
  int64_t col;
  int rows, tile_rows, vecs;

  RILL_INLINE int64_t row_of(int r) const { return r < rows ? r : rows - 1; }
};

/// Set up sums, [tile_rows][vecs] vectors: the bias, C or zeros, and zeros past the last column.
template <class Arch>
[[gnu::noinline]] void start_few(const MatmulF32Args& g, FewRows at, float* sums) {
  using S = Ops<Arch>;
  for (int r = 0; r < at.tile_rows; ++r) {
    const float* from = g.accumulate        ? g.c + at.row_of(r) * g.ldc + at.col
                        : g.bias == nullptr ? nullptr
                                            : g.bias + at.col;
    for (int j = 0; j < at.vecs; ++j, sums += S::kLanes) {
      const int64_t col = j * S::kLanes;
      const auto v =
          from == nullptr ? Lanes<Arch>(0.0f) : S::load_partial(from + col, g.n - at.col - col);
      v.store_aligned(sums);
    }
  }
}

/// Add the residual to the sums, clip them and store them to C, no column past the last one.
template <class Arch>
[[gnu::noinline]] void finish_few(const MatmulF32Args& g, FewRows at, const float* sums) {
  using S = Ops<Arch>;
  const Clip<Arch> clip(g.clip, g.lo, g.hi);
  for (int r = 0; r < at.rows; ++r) {
    for (int j = 0; j < at.vecs; ++j, sums += S::kLanes) {
      const int64_t col = at.col + j * S::kLanes;
      auto v = Lanes<Arch>::load_aligned(sums);
      if (g.residual != nullptr) {
        v = v + S::load_partial(g.residual + r * g.ldr + col, g.n - col);
      }
      S::store_partial(g.c + r * g.ldc + col, clip.apply(v), g.n - col);
    }
  }
}

/// Compute up to kRows rows by kPanels panels from column `col` on.
template <class Arch, class Format, int kRows, int kPanels>
[[gnu::noinline]] void few_rows(const MatmulPackedArgs& args, int rows,
                                int64_t col) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kVecs = kPanels * kPanelVecs<Arch>;
  const MatmulF32Args& g = args.product;
  const FewRows place{col, rows, kRows, kVecs};
  const int64_t panel_bytes = g.segments * g.segment_len / Format::kCount * Format::kBytes;
  alignas(64) float sums[kRows * kVecs * S::kLanes];
  start_few<Arch>(g, place, sums);
  V acc[kRows][kVecs];
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
    a[r] = g.a + place.row_of(r) * g.lda;
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      acc[r][j] = V::load_aligned(sums + (r * kVecs + j) * S::kLanes);
    }
  }
  const std::byte* blocks[kVecs];
#pragma GCC unroll 32
  for (int j = 0; j < kVecs; ++j) {
    blocks[j] = args.b + (col / Format::kNr + j / kPanelVecs<Arch>)*panel_bytes;
  }
  for (int64_t s = 0; s < g.segments; ++s) {
    for (int64_t p = 0; p < g.segment_len; p += Format::kCount) {
      Format::template read<kVecs>(blocks, [&](int at, const V(&values)[kVecs]) RILL_INLINE_LAMBDA {
#pragma GCC unroll 32
        for (int r = 0; r < kRows; ++r) {
          const V av(a[r][p + at]);
#pragma GCC unroll 32
          for (int j = 0; j < kVecs; ++j) acc[r][j] = S::madd(av, values[j], acc[r][j]);
        }
      });
#pragma GCC unroll 32
      for (const std::byte*& block : blocks) block += Format::kBytes;
    }
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) a[r] += g.segment_stride;
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      acc[r][j].store_aligned(sums + (r * kVecs + j) * S::kLanes);
    }
  }
  finish_few<Arch>(g, place, sums);
}

/// Compute up to kRows rows, as many panels at once as leave room for the sums.
template <class Arch, class Format, int kRows>
void all_columns(const MatmulPackedArgs& args, int rows) {
  constexpr int kFit = kFewSums<Arch> / (kRows * kPanelVecs<Arch>);
  constexpr int kPanels = kFit < Format::kMostPanels ? kFit : Format::kMostPanels;
  const int64_t n = args.product.n;
  int64_t col = 0;
  if constexpr (kPanels > 1) {
    for (; col + kPanels * Format::kNr <= n; col += kPanels * Format::kNr) {
      few_rows<Arch, Format, kRows, kPanels>(args, rows, col);
    }
  }
  for (; col < n; col += Format::kNr) few_rows<Arch, Format, kRows, 1>(args, rows, col);
}

/// Compute C from blocks of B that are written out one after another, small enough to stay in the
/// second-level cache. A residual that is C itself would be lost to a partial sum.
template <class Arch, class Format>
void written_out(const MatmulPackedArgs& args,
                 void (*plain)(const MatmulF32Args&) noexcept RILL_NONBLOCKING) {
  const MatmulF32Args& g = args.product;
  const int64_t k = g.segments * g.segment_len, panel_bytes = k / Format::kCount * Format::kBytes;
  const int64_t step = g.segments == 1 && g.residual != g.c && k > kPackedBlockK ? kPackedBlockK : k;
  MatmulF32Args block = g;
  block.b = args.scratch;
  for (int64_t begin = 0; begin == 0 || begin < k; begin += step) {
    const int64_t count = k - begin < step ? k - begin : step;
    const bool last = begin + count == k;
    const int64_t fit = count > 0 ? kPackedBlockFloats / (count * Format::kNr) : 1;
    const int64_t columns = (fit > 1 ? fit : 1) * Format::kNr;
    if (g.segments == 1) block.segment_len = count;
    block.a = g.a + begin;
    block.accumulate = g.accumulate || begin > 0;
    block.clip = g.clip && last;
    for (int64_t col = 0; col < g.n; col += columns) {
      block.n = g.n - col < columns ? g.n - col : columns;
      for (int64_t j = 0; j < block.n; j += Format::kNr) {
        write_out<Arch, Format>(args.b + (col + j) / Format::kNr * panel_bytes +
                                    begin / Format::kCount * Format::kBytes,
                                count, args.scratch + j * count);
      }
      block.c = g.c + col;
      block.bias = g.bias == nullptr ? nullptr : g.bias + col;
      block.residual = g.residual == nullptr || !last ? nullptr : g.residual + col;
      plain(block);
    }
    if (count == 0) break;
  }
}

/// Compute all of C; `plain` is the tier's f32 product.
template <class Arch, class Format>
void matmul_packed(const MatmulPackedArgs& args,
                   void (*plain)(const MatmulF32Args&) noexcept RILL_NONBLOCKING) {
  const MatmulF32Args& g = args.product;
  if (g.m <= 0 || g.n <= 0) return;
  if (g.m == 1) return all_columns<Arch, Format, 1>(args, 1);
  if (g.m == 2) return all_columns<Arch, Format, 2>(args, 2);
  const auto rows = static_cast<int>(g.m);
  if (g.m <= 4) return all_columns<Arch, Format, 4>(args, rows);
  if constexpr (Format::kCount == 1 && 8 * kPanelVecs<Arch> <= kFewSums<Arch>) {
    if (g.m <= 8) return all_columns<Arch, Format, 8>(args, rows);
  }
  written_out<Arch, Format>(args, plain);
}

}  // namespace
}  // namespace rill::kernels
