#pragma once

#include <type_traits>

#include "kernels/matmul_packed/few_rows_impl.h"

// Matmuls with a 4-bit B. A block is 32 values of k for the nr columns of a panel: nr scales, then
// the values. Within a block, values stay whole numbers until they are summed: every element of C
// is one chain over the blocks, and every block one chain over its values, times the scale. So a
// scale costs one multiply-add for 32 values, and any number of rows gives the same bits.

#define RILL_INLINE_LAMBDA __attribute__((always_inline))

namespace rill::kernels {
namespace {

constexpr int64_t kQ4Values = 32;
/// Prefetch distance of a single row, in bytes: unpacking leaves the machine too few outstanding
/// reads.
constexpr int64_t kQ4Ahead = 4096;

template <class Arch>
using Ints = xsimd::batch<int32_t, Arch>;

#if defined(__AVX512BW__)
/// The upper halves of the floats of every nibble, for the four bits that it has and one more.
alignas(64) constexpr uint16_t kUpperHalves[32] = {
    0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0, 0x40E0, 0xC100, 0xC0E0, 0xC0C0,
    0xC0A0, 0xC080, 0xC040, 0xC000, 0xBF80, 0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0,
    0x40C0, 0x40E0, 0xC100, 0xC0E0, 0xC0C0, 0xC0A0, 0xC080, 0xC040, 0xC000, 0xBF80};
#endif

/// The nibble that begins at bit kBit of every lane, two's complement, as a float.
template <class Arch, int kBit>
RILL_INLINE Lanes<Arch> nibble(Ints<Arch> word) {
#if defined(__AVX512BW__)
  if constexpr (std::is_same_v<Arch, Avx512>) {
    // The lookup uses the low bits of a lane, or of its upper half, and ignores the higher bits.
    const __m512i shifted = kBit % 16 == 0 ? __m512i(word) : _mm512_srli_epi32(word, kBit % 16);
    if constexpr (kBit < 16) {
      const __m512 floats = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
      return _mm512_permutexvar_ps(shifted, floats);
    } else {
      return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(
          0xAAAAAAAA, shifted, _mm512_load_si512(kUpperHalves)));
    }
  } else
#endif
  {
    if constexpr (kBit < 28) word = word << (28 - kBit);
    return xsimd::to_float(word >> 28);
  }
}

/// Values as words of eight nibbles, four for every column.
template <class Arch>
struct Q4Words {
  /// Call f(k, values) for every k of the block, with the values of kVecs vectors of columns;
  /// `blocks` has where the values of each vector's panel begin.
  template <int kVecs, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kVecs], F&& f) {
    for (int w = 0; w < 4; ++w) {
      Ints<Arch> word[kVecs];
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        const int64_t at = w * kPanelColumns<Arch> + j % kPanelVecs<Arch> * Ops<Arch>::kLanes;
        word[j] =
            Ints<Arch>::load_unaligned(reinterpret_cast<const int32_t*>(blocks[j] + at * 4));
      }
      const auto one = [&]<int kAt>(std::integral_constant<int, kAt>) RILL_INLINE_LAMBDA {
        Lanes<Arch> values[kVecs];
#pragma GCC unroll 32
        for (int j = 0; j < kVecs; ++j) values[j] = nibble<Arch, kQ4WordBits[kAt]>(word[j]);
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

#if defined(__AVX2__) && defined(__FMA__)
/// Values as 32 bytes of two nibbles for four k: the low nibbles are two, the high ones the next
/// two. In each half of the bytes, eight are of one k, in turns of the first and of the second
/// vector. Floats of so few bits are looked up, byte by byte, which leaves the ports of the sums
/// free.
struct Q4Bytes {
  /// The upper halves of floats from -8 to 7: both bytes of each.
  static RILL_INLINE __m256i table(int64_t first, int64_t second) {
    return _mm256_setr_epi64x(first, second, first, second);
  }

  /// Four vectors of floats from 32 nibbles: two vectors of one k, two of the next.
  static RILL_INLINE void floats_of(__m256i nibbles, Lanes<Avx2> (&to)[4]) {
    const __m256i lower =
        _mm256_shuffle_epi8(table(-0x7FFFBF7F5F3F2000, -0x1F3F5F7FBFFF8000), nibbles);
    const __m256i upper =
        _mm256_shuffle_epi8(table(-0x403F3F3F3F3F3F3F, 0x4040404040403F00), nibbles);
    const __m256i mask = _mm256_set1_epi32(-65536);
    const __m256i one = _mm256_unpacklo_epi8(lower, upper);
    const __m256i next = _mm256_unpackhi_epi8(lower, upper);
    to[0] = _mm256_castsi256_ps(_mm256_slli_epi32(one, 16));
    to[1] = _mm256_castsi256_ps(_mm256_and_si256(one, mask));
    to[2] = _mm256_castsi256_ps(_mm256_slli_epi32(next, 16));
    to[3] = _mm256_castsi256_ps(_mm256_and_si256(next, mask));
  }

  template <int kVecs, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kVecs], F&& f) {
    constexpr int kPanels = kVecs / 2;
    const __m256i low = _mm256_set1_epi8(15);
    for (int p = 0; p < 32; p += 4) {
      __m256i two[kPanels];
#pragma GCC unroll 32
      for (int i = 0; i < kPanels; ++i) {
        two[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(blocks[i * 2] + p * 8));
      }
#pragma GCC unroll 32
      for (int half = 0; half < 2; ++half) {
        Lanes<Avx2> floats[kPanels][4];
#pragma GCC unroll 32
        for (int i = 0; i < kPanels; ++i) {
          const __m256i nibbles = half == 0 ? two[i] : _mm256_srli_epi16(two[i], 4);
          floats_of(_mm256_and_si256(nibbles, low), floats[i]);
        }
#pragma GCC unroll 32
        for (int at = 0; at < 2; ++at) {
          Lanes<Avx2> values[kVecs];
#pragma GCC unroll 32
          for (int j = 0; j < kVecs; ++j) values[j] = floats[j / 2][at * 2 + j % 2];
          f(p + half * 2 + at, values);
        }
      }
    }
  }
};
#endif

/// Fetch the blocks of panels that are a while ahead.
template <class Arch, int kPanels, int kVecs>
RILL_INLINE void fetch_q4(const std::byte* const (&blocks)[kVecs]) {
#pragma GCC unroll 32
  for (int i = 0; i < kPanels; ++i) {
    const std::byte* ahead = blocks[i * kPanelVecs<Arch>] + kQ4Ahead;
#pragma GCC unroll 32
    for (int64_t line = 0; line < kPanelColumns<Arch> * 18; line += 64) {
      __builtin_prefetch(ahead + line, 0, 2);
    }
  }
}

/// Compute up to kRows rows by kPanels panels from column `col` on.
template <class Arch, class Values, int kRows, int kPanels>
[[gnu::noinline]] void q4_tile(const MatmulF32Args& g, const std::byte* b, int rows,
                               int64_t col) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kVecs = kPanels * kPanelVecs<Arch>, kNr = kPanelColumns<Arch>;
  constexpr int64_t kBytes = kNr * 18;
  const FewRows place{col, rows, kRows, kVecs};
  const int64_t panel_bytes = g.segments * g.segment_len / kQ4Values * kBytes;
  alignas(64) float sums[kRows * kVecs * S::kLanes];
  start_few<Arch>(g, place, sums);
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) a[r] = g.a + place.row_of(r) * g.lda;
  const std::byte* blocks[kVecs];
#pragma GCC unroll 32
  for (int j = 0; j < kVecs; ++j) {
    blocks[j] = b + (col / kNr + j / kPanelVecs<Arch>)*panel_bytes + kNr * 2;
  }
  for (int64_t s = 0; s < g.segments; ++s) {
    for (int64_t p = 0; p < g.segment_len; p += kQ4Values) {
      if constexpr (kRows == 1) fetch_q4<Arch, kPanels>(blocks);
      V part[kRows][kVecs];
#pragma GCC unroll 32
      for (auto& row : part) {
#pragma GCC unroll 32
        for (V& v : row) v = V(0.0f);
      }
      Values::template read<kVecs>(blocks, [&](int at, const V(&values)[kVecs]) RILL_INLINE_LAMBDA {
#pragma GCC unroll 32
        for (int r = 0; r < kRows; ++r) {
          const V av(a[r][p + at]);
#pragma GCC unroll 32
          for (int j = 0; j < kVecs; ++j) part[r][j] = S::madd(av, values[j], part[r][j]);
        }
      });
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        const V scale =
            UpcastF16<Arch>::load(blocks[j] - kNr * 2 + j % kPanelVecs<Arch> * S::kLanes * 2);
#pragma GCC unroll 32
        for (int r = 0; r < kRows; ++r) {
          float* sum = sums + (r * kVecs + j) * S::kLanes;
          S::madd(part[r][j], scale, V::load_aligned(sum)).store_aligned(sum);
        }
      }
#pragma GCC unroll 32
      for (const std::byte*& block : blocks) block += kBytes;
    }
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) a[r] += g.segment_stride;
  }
  finish_few<Arch>(g, place, sums);
}

/// Compute up to kRows rows; two panels at once, if registers hold their sums, double the
/// independent chains.
template <class Arch, class Values, int kRows>
void q4_few_rows(const MatmulF32Args& g, const std::byte* b) {
  constexpr int kNr = kPanelColumns<Arch>;
  const auto rows = static_cast<int>(g.m);
  int64_t col = 0;
  if constexpr (kRows * 4 * kPanelVecs<Arch> <= Ops<Arch>::kRegisters) {
    for (; col + 2 * kNr <= g.n; col += 2 * kNr) q4_tile<Arch, Values, kRows, 2>(g, b, rows, col);
  }
  for (; col < g.n; col += kNr) q4_tile<Arch, Values, kRows, 1>(g, b, rows, col);
}

/// Rows that share the floats of a run of blocks, the most blocks of a run, and rows that are
/// summed at once.
constexpr int kQ4Group = 48;
constexpr int64_t kQ4Run = 4;
template <class Arch>
constexpr int kQ4Rows = Ops<Arch>::kRegisters < 32 || kPanelVecs<Arch> > 2 ? 6 : 8;

/// Return whether tiles of kRows waste no more of `rest` rows than tiles of four.
template <int kRows>
constexpr bool fits_rows(int rest) {
  return rest >= 2 * kRows || (rest + kRows - 1) / kRows * kRows <= (rest + 3) / 4 * 4;
}

/// A run of blocks of a panel: the packed data at `blocks`, and its whole numbers as
/// [values][columns].
struct Q4RunOf {
  const std::byte* blocks;
  int64_t count;
  const float* values;
};

/// Write the whole numbers of a run out.
template <class Arch, class Values>
void write_run(const Q4RunOf& run, float* to) {
  constexpr int kVecs = kPanelVecs<Arch>, kNr = kPanelColumns<Arch>;
  for (int64_t i = 0; i < run.count; ++i, to += kQ4Values * kNr) {
    const std::byte* from[kVecs];
#pragma GCC unroll 32
    for (const std::byte*& at : from) at = run.blocks + i * kNr * 18 + kNr * 2;
    Values::template read<kVecs>(
        from, [&](int at, const Lanes<Arch>(&values)[kVecs]) RILL_INLINE_LAMBDA {
#pragma GCC unroll 32
          for (int j = 0; j < kVecs; ++j) {
            values[j].store_aligned(to + at * kNr + j * Ops<Arch>::kLanes);
          }
        });
  }
}

/// Add the products of a run to the sums of kRows rows from `row` on, [rows][columns].
template <class Arch, int kRows>
[[gnu::noinline]] void add_run(const float* rows, int64_t lda, FewRows place, int row,
                               const Q4RunOf& run, float* sums) {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kVecs = kPanelVecs<Arch>, kNr = kPanelColumns<Arch>;
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) a[r] = rows + place.row_of(row + r) * lda;
  sums += row * kNr;
  const float* b = run.values;
  for (int64_t i = 0; i < run.count; ++i) {
    V part[kRows][kVecs];
#pragma GCC unroll 32
    for (auto& of_row : part) {
#pragma GCC unroll 32
      for (V& v : of_row) v = V(0.0f);
    }
    for (int p = 0; p < kQ4Values; ++p, b += kNr) {
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
#pragma GCC unroll 32
    for (int j = 0; j < kVecs; ++j) {
      const V scale = UpcastF16<Arch>::load(run.blocks + i * kNr * 18 + j * S::kLanes * 2);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        float* sum = sums + r * kNr + j * S::kLanes;
        S::madd(part[r][j], scale, V::load_aligned(sum)).store_aligned(sum);
      }
    }
  }
}

/// Compute up to kQ4Group rows of a panel, a run of blocks at a time.
template <class Arch, class Values>
[[gnu::noinline]] void q4_group(const MatmulF32Args& g, const std::byte* panel, int rows,
                                int64_t col) RILL_NONBLOCKING {
  constexpr int kNr = kPanelColumns<Arch>, kRows = kQ4Rows<Arch>;
  // The last tile may end up to three rows past the last row.
  const FewRows place{col, rows, rows + 3, kPanelVecs<Arch>};
  alignas(64) float sums[(kQ4Group + 3) * kNr];
  alignas(64) float values[kQ4Run * kQ4Values * kNr];
  start_few<Arch>(g, place, sums);
  for (int64_t s = 0; s < g.segments; ++s) {
    const float* a = g.a + s * g.segment_stride;
    for (int64_t p = 0, blocks = g.segment_len / kQ4Values; p < blocks; p += kQ4Run) {
      const Q4RunOf run{panel, blocks - p < kQ4Run ? blocks - p : kQ4Run, values};
      write_run<Arch, Values>(run, values);
      for (int row = 0; row < rows;) {
        if (fits_rows<kRows>(rows - row)) {
          add_run<Arch, kRows>(a, g.lda, place, row, run, sums);
          row += kRows;
        } else {
          add_run<Arch, 4>(a, g.lda, place, row, run, sums);
          row += 4;
        }
      }
      a += run.count * kQ4Values;
      panel += run.count * kNr * 18;
    }
  }
  finish_few<Arch>(g, place, sums);
}

/// Compute all of C, for any number of rows.
template <class Arch, class Values>
void q4_many_rows(const MatmulF32Args& g, const std::byte* b) {
  constexpr int kNr = kPanelColumns<Arch>;
  MatmulF32Args group = g;
  for (int64_t row = 0; row < g.m; row += kQ4Group) {
    const auto rows = static_cast<int>(g.m - row < kQ4Group ? g.m - row : kQ4Group);
    group.a = g.a + row * g.lda;
    group.c = g.c + row * g.ldc;
    group.residual = g.residual == nullptr ? nullptr : g.residual + row * g.ldr;
    for (int64_t col = 0; col < g.n; col += kNr) {
      const int64_t blocks = g.segments * g.segment_len / kQ4Values;
      q4_group<Arch, Values>(group, b + col * blocks * 18, rows, col);
    }
  }
}

/// Compute all of C.
template <class Arch, class Values>
void matmul_q4(const MatmulPackedArgs& args) {
  const MatmulF32Args& g = args.product;
  if (g.m <= 0 || g.n <= 0) return;
  if (g.m == 1) return q4_few_rows<Arch, Values, 1>(g, args.b);
  if (g.m == 2) return q4_few_rows<Arch, Values, 2>(g, args.b);
  if (g.m <= 4) return q4_few_rows<Arch, Values, 4>(g, args.b);
  q4_many_rows<Arch, Values>(g, args.b);
}

}  // namespace
}  // namespace rill::kernels
