#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/matmul/lanes_impl.h"
#include "kernels/matmul_packed/half_bits.h"
#include "kernels/matmul_packed/matmul_packed_args.h"

// B lies in panels of nr columns; a panel is a run of blocks along k, each of the nr columns.
// A format tells its block: how many k it has, its bytes, and how to make floats of it. Those are
// exact, so that products have the bits that they have with B written out.

#define RILL_INLINE_LAMBDA __attribute__((always_inline))

namespace rill::kernels {
namespace {

/// Panels that a tile takes at once: enough sums to hide the latency, where registers allow.
template <class Arch>
constexpr int kPackedPanels = Ops<Arch>::kRegisters >= 32 ? 2 : 1;

template <class Arch>
using Ints = xsimd::batch<int32_t, Arch>;

/// Halves as floats.
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

/// Where a tile of few rows lies in C.
struct FewRows {
  int64_t row, col;
  int rows, vecs;
};

/// Set up sums, [rows][vecs] vectors: the bias, C or zeros, and zeros past the last column.
template <class Arch>
[[gnu::noinline]] void start_few(const MatmulF32Args& g, FewRows at, float* sums) {
  using S = Ops<Arch>;
  for (int r = 0; r < at.rows; ++r) {
    const float* from = g.accumulate        ? g.c + (at.row + r) * g.ldc + at.col
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
        v = v + S::load_partial(g.residual + (at.row + r) * g.ldr + col, g.n - col);
      }
      S::store_partial(g.c + (at.row + r) * g.ldc + col, clip.apply(v), g.n - col);
    }
  }
}

/// Compute kRows rows by kPanels panels from column `col` on.
template <class Arch, class Format, int kRows, int kPanels>
[[gnu::noinline]] void few_rows(const MatmulPackedArgs& args, int64_t row,
                                int64_t col) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kVecs = kPanels * kPanelVecs<Arch>;
  const MatmulF32Args& g = args.product;
  const FewRows place{row, col, kRows, kVecs};
  const int64_t panel_bytes = g.segment_len / Format::kCount * Format::kBytes;
  alignas(64) float sums[kRows * kVecs * S::kLanes];
  start_few<Arch>(g, place, sums);
  V acc[kRows][kVecs];
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
    a[r] = g.a + (row + r) * g.lda;
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
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      acc[r][j].store_aligned(sums + (r * kVecs + j) * S::kLanes);
    }
  }
  finish_few<Arch>(g, place, sums);
}

template <class Arch, class Format, int kPanels>
void few_rows_of(const MatmulPackedArgs& args, int64_t rows, int64_t row, int64_t col) {
  switch (rows) {
    case 1:
      return few_rows<Arch, Format, 1, kPanels>(args, row, col);
    case 2:
      return few_rows<Arch, Format, 2, kPanels>(args, row, col);
    case 3:
      return few_rows<Arch, Format, 3, kPanels>(args, row, col);
    default:
      return few_rows<Arch, Format, 4, kPanels>(args, row, col);
  }
}

/// Compute all of C; `plain` is the tier's f32 product.
template <class Arch, class Format>
void matmul_packed(const MatmulPackedArgs& args,
                   void (*plain)(const MatmulF32Args&) noexcept RILL_NONBLOCKING) {
  const MatmulF32Args& g = args.product;
  if (g.m <= 0 || g.n <= 0) return;
  if (g.m <= kPackedFewRows) {
    constexpr int64_t kWide = int64_t{kPackedPanels<Arch>} * Format::kNr;
    int64_t col = 0;
    for (; col + kWide <= g.n; col += kWide) {
      few_rows_of<Arch, Format, kPackedPanels<Arch>>(args, g.m, 0, col);
    }
    for (; col < g.n; col += Format::kNr) few_rows_of<Arch, Format, 1>(args, g.m, 0, col);
    return;
  }
  const int64_t k = g.segment_len;
  MatmulF32Args panel = g;
  panel.b = args.scratch;
  for (int64_t col = 0; col < g.n; col += Format::kNr) {
    const int64_t left = g.n - col;
    write_out<Arch, Format>(args.b + col / Format::kNr * (k / Format::kCount) * Format::kBytes, k,
                            args.scratch);
    panel.n = left < Format::kNr ? left : Format::kNr;
    panel.c = g.c + col;
    panel.bias = g.bias == nullptr ? nullptr : g.bias + col;
    panel.residual = g.residual == nullptr ? nullptr : g.residual + col;
    plain(panel);
  }
}

}  // namespace
}  // namespace rill::kernels
