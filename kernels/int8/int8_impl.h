#pragma once

#include <cstring>

#if defined(RILL_SCALAR)
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__SSE4_1__)
// GCC 12 initialises a variable with itself in its AVX-512 intrinsics, and warns about it wherever
// they are inlined.
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

#include "kernels/int8/int8_args.h"

// One instruction multiplies four bytes of a row of A, two or four values of k, by a vector of B,
// with the same values of k for each of its columns. Rows of A are first converted to that form,
// and padded to whole groups of values, so that loads may read beyond the end of a row.

#define RILL_INLINE __attribute__((always_inline)) inline

namespace rill::kernels {
namespace {

// A dot product of a tier: `kWide` if A has 16 bits; otherwise `kSigned` is the signedness of its
// bytes. A of the other signedness has its highest bit flipped.
struct Bytes {
  static constexpr bool kWide = false;
  static constexpr int kDepth = 4;
};
struct Pairs {
  static constexpr bool kWide = true;
  static constexpr bool kSigned = true;
  static constexpr int kDepth = 2;
};

#if defined(RILL_SCALAR)
struct Dot : Bytes {
  using V = int32_t;
  static constexpr bool kSigned = true;
  static constexpr int kLanes = 1, kRegisters = 8, kPanel = 4;
  static RILL_INLINE V load(const int8_t* b) {
    int32_t four = 0;
    std::memcpy(&four, b, sizeof four);
    return four;
  }
  static RILL_INLINE V spread(int32_t a) { return a; }
  static RILL_INLINE V add(V sum, V a, V b) {
    auto out = static_cast<uint32_t>(sum);
    for (int i = 0; i < 32; i += 8) {
      const int32_t product = static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i);
      out += static_cast<uint32_t>(product);
    }
    return static_cast<int32_t>(out);
  }
};
#elif defined(__AVX512VNNI__)
struct Dot : Bytes {
  using V = __m512i;
  static constexpr bool kSigned = false;
  static constexpr int kLanes = 16, kRegisters = 32, kPanel = 2;
  static RILL_INLINE V load(const int8_t* b) { return _mm512_loadu_si512(b); }
  static RILL_INLINE V spread(int32_t a) { return _mm512_set1_epi32(a); }
  static RILL_INLINE V add(V sum, V a, V b) { return _mm512_dpbusd_epi32(sum, a, b); }
};
#elif defined(__AVXVNNI__)
struct Dot : Bytes {
  using V = __m256i;
  static constexpr bool kSigned = false;
  static constexpr int kLanes = 8, kRegisters = 16, kPanel = 2;
  static RILL_INLINE V load(const int8_t* b) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
  }
  static RILL_INLINE V spread(int32_t a) { return _mm256_set1_epi32(a); }
  static RILL_INLINE V add(V sum, V a, V b) { return _mm256_dpbusd_avx_epi32(sum, a, b); }
};
#elif defined(__AVX512BW__)
struct Dot : Pairs {
  using V = __m512i;
  static constexpr int kLanes = 16, kRegisters = 32, kPanel = 2;
  static RILL_INLINE V load(const int8_t* b) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)));
  }
  static RILL_INLINE V spread(int32_t a) { return _mm512_set1_epi32(a); }
  static RILL_INLINE V add(V sum, V a, V b) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
  }
};
#elif defined(__AVX2__)
struct Dot : Pairs {
  using V = __m256i;
  static constexpr int kLanes = 8, kRegisters = 16, kPanel = 2;
  static RILL_INLINE V load(const int8_t* b) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
  }
  static RILL_INLINE V spread(int32_t a) { return _mm256_set1_epi32(a); }
  static RILL_INLINE V add(V sum, V a, V b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
  }
};
#elif defined(__SSE4_1__)
struct Dot : Pairs {
  using V = __m128i;
  static constexpr int kLanes = 4, kRegisters = 16, kPanel = 2;
  static RILL_INLINE V load(const int8_t* b) {
    return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(b)));
  }
  static RILL_INLINE V spread(int32_t a) { return _mm_set1_epi32(a); }
  static RILL_INLINE V add(V sum, V a, V b) { return _mm_add_epi32(sum, _mm_madd_epi16(a, b)); }
};
#elif defined(__ARM_NEON)
inline int32x4_t sums_of_pairs(int32x4_t low, int32x4_t high) {
#if defined(__aarch64__)
  return vpaddq_s32(low, high);
#else
  return vcombine_s32(vpadd_s32(vget_low_s32(low), vget_high_s32(low)),
                      vpadd_s32(vget_low_s32(high), vget_high_s32(high)));
#endif
}

struct Dot : Bytes {
  using V = int32x4_t;
  static constexpr bool kSigned = true;
#if defined(__aarch64__)
  static constexpr int kRegisters = 32;
#else
  static constexpr int kRegisters = 16;
#endif
  static constexpr int kLanes = 4, kPanel = 2;
  static RILL_INLINE int32x4_t load(const int8_t* b) {
    return vreinterpretq_s32_s8(vld1q_s8(b));
  }
  static RILL_INLINE V spread(int32_t a) { return vdupq_n_s32(a); }
  static RILL_INLINE V add(V sum, V a, V b) {
    const int8x16_t x = vreinterpretq_s8_s32(a), y = vreinterpretq_s8_s32(b);
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(sum, x, y);
#else
    // The sum of a pair of products has 17 bits, so add in 32 bits.
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)));
    const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(x), vget_high_s8(y)));
    return vaddq_s32(sum, sums_of_pairs(low, high));
#endif
  }
};
#endif

constexpr int kNr = Dot::kPanel * Dot::kLanes;
/// The bytes of B in one vector.
constexpr int kStep = Dot::kLanes * Dot::kDepth;

typedef uint32_t Lanes __attribute__((vector_size(4 * Dot::kLanes)));

/// Sum a converted row of `groups` groups.
inline uint32_t sum_of(const uint8_t* row, int64_t groups) {
  Dot::V sums = Dot::spread(0);
  for (int64_t p = 0; p < groups; p += Dot::kLanes) {
    const int64_t count = groups - p < Dot::kLanes ? groups - p : Dot::kLanes;
    Dot::V some = Dot::spread(0);
    std::memcpy(&some, row + p * 4, static_cast<size_t>(count * 4));
    sums = Dot::add(sums, some, Dot::spread(Dot::kWide ? 0x10001 : 0x1010101));
  }
  uint32_t lanes[Dot::kLanes];
  std::memcpy(lanes, &sums, sizeof lanes);
  uint32_t sum = 0;
  for (const uint32_t lane : lanes) sum += lane;
  return sum;
}

/// Convert one row of A to the kernel's form, with zeros up to whole groups. After them, store the
/// term of B's zero point: -b_zero times the sum of the row.
[[gnu::noinline]] inline void bring(const MatmulInt8Args& g, const uint8_t* from, uint8_t* to) {
  const int64_t k = g.segments * g.segment_len;
  uint8_t* const begin = to;
  for (int64_t s = 0; s < g.segments; ++s, from += g.segment_stride) {
    int64_t i = 0;
    if constexpr (Dot::kWide) {
#if defined(__SSE4_1__) && !defined(RILL_SCALAR)
      for (; i + 8 <= g.segment_len; i += 8, to += 16) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         g.a_signed ? _mm_cvtepi8_epi16(bytes) : _mm_cvtepu8_epi16(bytes));
      }
#endif
      for (; i < g.segment_len; ++i, to += 2) {
        const auto wide = static_cast<int16_t>(g.a_signed ? static_cast<int8_t>(from[i]) : from[i]);
        std::memcpy(to, &wide, sizeof wide);
      }
    } else {
      const uint64_t flip = g.a_signed == Dot::kSigned ? 0 : 0x8080808080808080u;
      for (; i + 8 <= g.segment_len; i += 8, to += 8) {
        uint64_t bytes = 0;
        std::memcpy(&bytes, from + i, sizeof bytes);
        bytes ^= flip;
        std::memcpy(to, &bytes, sizeof bytes);
      }
      for (; i < g.segment_len; ++i) *to++ = static_cast<uint8_t>(from[i] ^ (flip & 0x80u));
    }
  }
  const int64_t groups = (k + Dot::kDepth - 1) / Dot::kDepth;
  uint8_t* const end = begin + groups * 4;
  std::memset(to, 0, static_cast<size_t>(end - to));
  uint32_t start = 0;
  if (g.b_zero != 0) {
    // Subtract the offset that the form adds to each byte of A.
    const auto terms = static_cast<uint32_t>(k);
    const uint32_t shift = Dot::kWide || g.a_signed == Dot::kSigned ? 0
                           : Dot::kSigned                           ? 0 - 128 * terms
                                                                    : 128 * terms;
    start = 0 - static_cast<uint32_t>(g.b_zero) * (sum_of(begin, groups) - shift);
  }
  std::memcpy(end, &start, sizeof start);
}

/// Store the sums of a tile, [rows][width], plus their initial values. `a` holds the converted
/// rows.
[[gnu::noinline]] inline void store_tile(const MatmulInt8Args& g, const uint8_t* const* a,
                                         int64_t groups, int64_t row, int rows, int64_t col,
                                         int width, const uint32_t* sums) {
  const int64_t columns = g.n - col < width ? g.n - col : width;
  for (int r = 0; r < rows; ++r, sums += width) {
    uint32_t own;
    std::memcpy(&own, a[r] + groups * 4, sizeof own);
    int32_t* c = g.c + (row + r) * g.ldc + col;
    const int32_t* start = g.start + col;
    int64_t j = 0;
    for (; j + Dot::kLanes <= columns; j += Dot::kLanes) {
      Lanes sum, first;
      std::memcpy(&sum, sums + j, sizeof sum);
      std::memcpy(&first, start + j, sizeof first);
      sum += first + own;
      std::memcpy(c + j, &sum, sizeof sum);
    }
    for (; j < columns; ++j) {
      c[j] = static_cast<int32_t>(sums[j] + static_cast<uint32_t>(start[j]) + own);
    }
  }
}

/// Compute up to kRows converted rows at `a` by kPanels panels, starting at column `col`. Missing
/// rows repeat the last one.
template <int kRows, int kPanels>
[[gnu::noinline]] void int8_tile(const MatmulInt8Args& g, const uint8_t* a, int64_t row, int rows,
                                 int64_t col) RILL_NONBLOCKING {
  using V = Dot::V;
  constexpr int kVecs = kPanels * Dot::kPanel;
  const int64_t groups = (g.segments * g.segment_len + Dot::kDepth - 1) / Dot::kDepth;
  const uint8_t* at[kRows];
  V acc[kRows][kVecs];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
    at[r] = a + (r < rows ? r : rows - 1) * (groups + 1) * 4;
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) acc[r][j] = Dot::spread(0);
  }
  const int8_t* panel[kPanels];
#pragma GCC unroll 32
  for (int j = 0; j < kPanels; ++j) {
    panel[j] = g.b + (col / kNr + j) * groups * Dot::kPanel * kStep;
  }
  for (int64_t p = 0; p < groups; ++p) {
    V b[kVecs];
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      b[j] = Dot::load(panel[j / Dot::kPanel] + j % Dot::kPanel * kStep);
    }
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      int32_t four;
      std::memcpy(&four, at[r] + p * 4, sizeof four);
      const V av = Dot::spread(four);
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) acc[r][j] = Dot::add(acc[r][j], av, b[j]);
    }
#pragma GCC unroll 32
    for (const int8_t*& next : panel) next += Dot::kPanel * kStep;
  }
  constexpr int kWidth = kVecs * Dot::kLanes;
  alignas(64) uint32_t sums[kRows * kWidth];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      std::memcpy(sums + r * kWidth + j * Dot::kLanes, &acc[r][j], sizeof(V));
    }
  }
  store_tile(g, at, groups, row, rows, col, kWidth, sums);
}

/// Compute up to kRows rows by all columns, with as many panels at once as have sums in registers.
template <int kRows>
void int8_rows(const MatmulInt8Args& g, const uint8_t* a, int64_t row, int rows, int64_t col,
               int64_t end) {
  constexpr int kFit = Dot::kRegisters / 2 / (kRows * Dot::kPanel);
  constexpr int kPanels = kFit > 4 ? 4 : kFit < 1 ? 1 : kFit;
  if constexpr (kPanels > 1) {
    for (; col + kPanels * kNr <= end; col += kPanels * kNr) {
      int8_tile<kRows, kPanels>(g, a, row, rows, col);
    }
  }
  for (; col < end; col += kNr) int8_tile<kRows, 1>(g, a, row, rows, col);
}

/// The rows of a large tile.
constexpr int kManyRows = Dot::kRegisters >= 32 ? 8 : 4;

inline void matmul_int8_of(const MatmulInt8Args& given) {
  MatmulInt8Args g = given;
  // Empty rows may have any address.
  if (g.segment_len == 0) g.segments = g.lda = g.run_stride = 0;
  const int64_t k = g.segments * g.segment_len;
  const int64_t row_bytes = (k + Dot::kDepth - 1) / Dot::kDepth * 4 + 4;
  const int64_t block = matmul_int8_block(row_bytes) / kManyRows * kManyRows;
  const int64_t run = g.run > 0 ? g.run : g.m;
  const uint8_t* begin = g.a;
  int64_t within = 0;
  for (int64_t first = 0; first < g.m; first += block) {
    const int64_t count = g.m - first < block ? g.m - first : block;
    for (int64_t i = 0; i < count; ++i) {
      bring(g, begin + within * g.lda, g.scratch + i * row_bytes);
      if (++within == run) {
        begin += g.run_stride;
        within = 0;
      }
    }
    if (count == 1) {
      int8_rows<1>(g, g.scratch, first, 1, 0, g.n);
      continue;
    }
    // A panel of B stays in the first or second cache level while the loop visits all rows.
    for (int64_t col = 0; col < g.n; col += 4 * kNr) {
      const int64_t end = g.n - col < 4 * kNr ? g.n : col + 4 * kNr;
      for (int64_t i = 0; i < count; i += kManyRows) {
        const auto rows = static_cast<int>(count - i < kManyRows ? count - i : kManyRows);
        const uint8_t* a = g.scratch + i * row_bytes;
        if (kManyRows > 4 && rows > 4) {
          int8_rows<kManyRows>(g, a, first + i, rows, col, end);
        } else {
          int8_rows<4>(g, a, first + i, rows, col, end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rill::kernels
