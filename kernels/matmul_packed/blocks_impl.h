#pragma once

#include <type_traits>

#include "kernels/matmul_packed/upcast_impl.h"

// Matmuls with a block-quantized B. A block has 32 values of k for the nr columns of a panel: nr
// scales, then the values. Every block is one chain over its unscaled values, and every element of
// C is one chain over the blocks, each times its scale. So a scale costs one multiply-add for 32
// values, and any number of rows gives the same bits.

#define RILL_INLINE_LAMBDA __attribute__((always_inline))

namespace rill::kernels {
namespace {

/// The prefetch distance in bytes, about a run of blocks: the hardware alone keeps too few loads in
/// flight while the kernel unpacks for one row or sums many. A smaller B is already in a cache.
constexpr int64_t kBlocksAhead = 4096;
constexpr int64_t kBlocksFar = 512 * 1024;

#if defined(__AVX512BW__)
/// The upper halves of the floats for every nibble; the table repeats for a fifth index bit.
alignas(64) constexpr uint16_t kUpperHalves[32] = {
    0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0, 0x40E0, 0xC100, 0xC0E0, 0xC0C0,
    0xC0A0, 0xC080, 0xC040, 0xC000, 0xBF80, 0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0,
    0x40C0, 0x40E0, 0xC100, 0xC0E0, 0xC0C0, 0xC0A0, 0xC080, 0xC040, 0xC000, 0xBF80};
#endif

/// Return the two's complement nibble at bit kBit of every lane as a float.
template <class Arch, int kBit>
RILL_INLINE Lanes<Arch> nibble(WholeLanes<Arch> word) {
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

/// Values as words of eight nibbles, up to four words per column.
template <class Arch>
struct Q4Words {
  static constexpr int kBits = 4;
  /// Call f(k, panel, values) for every k of the block and every panel, with the values of the
  /// panel's vectors; `blocks` points to the values of each panel.
  template <int kPanels, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kPanels], int64_t count, F&& f) {
    constexpr int kIn = kPanelVecs<Arch>, kLanes = Ops<Arch>::kLanes;
    for (int64_t w = 0; w * 8 < count; ++w) {
      WholeLanes<Arch> word[kPanels][kIn];
#pragma GCC unroll 32
      for (int i = 0; i < kPanels; ++i) {
#pragma GCC unroll 32
        for (int j = 0; j < kIn; ++j) {
          word[i][j] = WholeLanes<Arch>::load_unaligned(
              reinterpret_cast<const int32_t*>(blocks[i] + (w * kIn + j) * kLanes * 4));
        }
      }
      const auto one = [&]<int kAt>(std::integral_constant<int, kAt>) RILL_INLINE_LAMBDA {
#pragma GCC unroll 32
        for (int i = 0; i < kPanels; ++i) {
          Lanes<Arch> values[kIn];
#pragma GCC unroll 32
          for (int j = 0; j < kIn; ++j) values[j] = nibble<Arch, kQ4WordBits[kAt]>(word[i][j]);
          f(w * 8 + kAt, i, values);
        }
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

#if defined(__aarch64__)
/// Shuffle indices that move one byte to the top of each of four lanes, and 0 elsewhere.
alignas(16) constexpr uint8_t kTopBytes[4][16] = {
    {99, 99, 99, 0, 99, 99, 99, 1, 99, 99, 99, 2, 99, 99, 99, 3},
    {99, 99, 99, 4, 99, 99, 99, 5, 99, 99, 99, 6, 99, 99, 99, 7},
    {99, 99, 99, 8, 99, 99, 99, 9, 99, 99, 99, 10, 99, 99, 99, 11},
    {99, 99, 99, 12, 99, 99, 99, 13, 99, 99, 99, 14, 99, 99, 99, 15}};
#endif

/// Read a byte of every column of a panel as floats.
template <class Arch>
RILL_INLINE void panel_floats(const std::byte* from, Lanes<Arch> (&to)[kPanelVecs<Arch>]) {
#if defined(__aarch64__)
  static_assert(kPanelColumns<Arch> == 16);
  const uint8x16_t all = vld1q_u8(reinterpret_cast<const uint8_t*>(from));
#pragma GCC unroll 32
  for (int j = 0; j < 4; ++j) {
    const uint8x16_t top = vqtbl1q_u8(all, vld1q_u8(kTopBytes[j]));
    to[j] = vcvtq_n_f32_s32(vreinterpretq_s32_u8(top), 24);
  }
#else
#pragma GCC unroll 32
  for (int j = 0; j < kPanelVecs<Arch>; ++j) {
    to[j] = xsimd::to_float(Narrow<Arch>::bytes(from + j * Ops<Arch>::kLanes));
  }
#endif
}

/// Values as bytes, [k][nr].
template <class Arch>
struct Q8Rows {
  static constexpr int kBits = 8;
  template <int kPanels, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kPanels], int64_t count, F&& f) {
    for (int64_t p = 0; p < count; ++p) {
#pragma GCC unroll 32
      for (int i = 0; i < kPanels; ++i) {
        Lanes<Arch> values[kPanelVecs<Arch>];
        panel_floats<Arch>(blocks[i] + p * kPanelColumns<Arch>, values);
        f(p, i, values);
      }
    }
  }
};

#if defined(__AVX2__) && defined(__FMA__)
/// Values as 32 bytes of two nibbles for four k: the low nibbles hold two k, the high ones the next
/// two. In each half of the bytes, eight belong to one k, alternating between the first and the
/// second vector. A byte-wise table look-up makes the floats, which leaves the ports of the sums
/// free.
struct Q4Bytes {
  static constexpr int kBits = 4;
  /// Both bytes of the upper halves of the floats from -8 to 7.
  static RILL_INLINE __m256i table(int64_t first, int64_t second) {
    return _mm256_setr_epi64x(first, second, first, second);
  }

  /// Return four vectors of floats from 32 nibbles: two vectors of one k, two of the next.
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

  template <int kPanels, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kPanels], int64_t count, F&& f) {
    const __m256i low = _mm256_set1_epi8(15);
    for (int64_t p = 0; p < count; p += 4) {
      __m256i two[kPanels];
#pragma GCC unroll 32
      for (int i = 0; i < kPanels; ++i) {
        two[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(blocks[i] + p * 8));
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
#pragma GCC unroll 32
          for (int i = 0; i < kPanels; ++i) {
            const Lanes<Avx2> values[2] = {floats[i][at * 2], floats[i][at * 2 + 1]};
            f(p + half * 2 + at, i, values);
          }
        }
      }
    }
  }
};
#endif

/// A matmul with a block-quantized B. All blocks of k except the last lie within one segment of A.
struct BlockProduct {
  MatmulF32Args g;
  const std::byte* b;
  PackedFormat format;
  int64_t panel_bytes;
  bool far;  ///< B is large, so that its blocks are fetched ahead

  BlockProduct(const MatmulF32Args& args, const std::byte* packed, PackedFormat which, int64_t nr)
      : g(args),
        b(packed),
        format(which),
        panel_bytes(packed_panel_bytes(which, args.segments * args.segment_len, nr)),
        far(panel_bytes * args.n > kBlocksFar * nr) {}
};

/// Bytes of a whole block of a panel.
template <class Arch, class Values>
constexpr int64_t kBlockBytes = kPanelColumns<Arch> * (2 + kPackedBlock * Values::kBits / 8);

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

/// Compute up to kRows rows by kPanels panels from column `col` on.
template <class Arch, class Values, int kRows, int kPanels>
[[gnu::noinline]] void block_tile(const BlockProduct& product, int rows,
                                  int64_t col) RILL_NONBLOCKING {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kIn = kPanelVecs<Arch>, kVecs = kPanels * kIn, kNr = kPanelColumns<Arch>;
  constexpr int64_t kBytes = kBlockBytes<Arch, Values>;
  const MatmulF32Args& g = product.g;
  const FewRows place{col, rows, kRows, kVecs};
  alignas(64) float sums[kRows * kVecs * S::kLanes];
  start_few<Arch>(g, place, sums);
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) a[r] = g.a + place.row_of(r) * g.lda;
  const std::byte* blocks[kPanels];
#pragma GCC unroll 32
  for (int i = 0; i < kPanels; ++i) {
    blocks[i] = product.b + (col / kNr + i) * product.panel_bytes + kNr * 2;
  }
  for (int64_t s = 0; s < g.segments; ++s) {
    for (int64_t p = 0; p < g.segment_len; p += kPackedBlock) {
      if (product.far) {
#pragma GCC unroll 32
        for (const std::byte* block : blocks) fetch_block<Arch, Values>(block);
      }
      V part[kRows][kVecs];
#pragma GCC unroll 32
      for (auto& row : part) {
#pragma GCC unroll 32
        for (V& v : row) v = V(0.0f);
      }
      const int64_t left = g.segment_len - p;
      Values::template read<kPanels>(
          blocks, left < kPackedBlock ? left : kPackedBlock,
          [&](int64_t at, int i, const V(&values)[kIn]) RILL_INLINE_LAMBDA {
#pragma GCC unroll 32
            for (int r = 0; r < kRows; ++r) {
              const V av(a[r][p + at]);
#pragma GCC unroll 32
              for (int j = 0; j < kIn; ++j) {
                part[r][i * kIn + j] = S::madd(av, values[j], part[r][i * kIn + j]);
              }
            }
          });
#pragma GCC unroll 32
      for (int j = 0; j < kVecs; ++j) {
        const std::byte* scales = blocks[j / kIn] + (j % kIn * S::kLanes - kNr) * 2;
        const V scale = scales_at<Arch, Values>(product.format, scales);
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

/// Compute up to kRows rows, with several panels at once if their sums fit registers, for more
/// independent chains. Two rows with one remaining panel are rare, and run as four rows.
template <class Arch, class Values, int kRows>
void blocks_few_rows(const BlockProduct& product) {
  constexpr int kNr = kPanelColumns<Arch>;
  constexpr int kPanels = kRows == 1 && Values::kBits == 8 ? 4 : 2;
  constexpr int kLast = kRows == 2 ? 4 : kRows;
  const auto rows = static_cast<int>(product.g.m);
  const int64_t n = product.g.n;
  int64_t col = 0;
  if constexpr (kRows * kPanels * 2 * kPanelVecs<Arch> <= Ops<Arch>::kRegisters) {
    for (; col + kPanels * kNr <= n; col += kPanels * kNr) {
      block_tile<Arch, Values, kRows, kPanels>(product, rows, col);
    }
  }
  for (; col < n; col += kNr) block_tile<Arch, Values, kLast, 1>(product, rows, col);
}

/// The maximum number of blocks in a run, whose floats fit 16 KiB and are shared by the rows; and
/// the number of rows summed at once.
template <class Arch>
constexpr int64_t kBlocksOfRun = 128 / kPanelColumns<Arch>;
template <class Arch>
constexpr int kBlockRows = Ops<Arch>::kRegisters < 32 || kPanelVecs<Arch> > 2 ? 6 : 8;

/// Return whether tiles of kRows waste no more of `rest` rows than tiles of four.
template <int kRows>
constexpr bool fits_rows(int rest) {
  return rest >= 2 * kRows || (rest + kRows - 1) / kRows * kRows <= (rest + 3) / 4 * 4;
}

/// A run of blocks of a panel as floats: scales, and unscaled values as [values][columns].
template <class Arch>
struct BlockRun {
  int64_t count;  ///< of values
  alignas(64) float scales[kBlocksOfRun<Arch> * kPanelColumns<Arch>];
  alignas(64) float values[kBlocksOfRun<Arch> * kPackedBlock * kPanelColumns<Arch>];
};

/// Unpack a run.
template <class Arch, class Values>
RILL_INLINE void write_run(const BlockProduct& product, const std::byte* from, int64_t count,
                           BlockRun<Arch>* run) {
  constexpr int kNr = kPanelColumns<Arch>, kLanes = Ops<Arch>::kLanes;
  run->count = count;
  float* scales = run->scales;
  float* to = run->values;
  for (; count > 0; count -= kPackedBlock, from += kBlockBytes<Arch, Values>) {
    if (product.far) fetch_block<Arch, Values>(from);  // of the next run
    for (int j = 0; j < kNr; j += kLanes) {
      scales_at<Arch, Values>(product.format, from + j * 2).store_aligned(scales + j);
    }
    scales += kNr;
    const std::byte* const blocks[1] = {from + kNr * 2};
    Values::template read<1>(
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

/// Add the products of a run to the sums of kRows rows, starting at `row`, [rows][columns].
template <class Arch, int kRows>
[[gnu::noinline]] void add_run(const float* rows, int64_t lda, FewRows place, int row,
                               const BlockRun<Arch>& run, float* sums) {
  using S = Ops<Arch>;
  using V = Lanes<Arch>;
  constexpr int kVecs = kPanelVecs<Arch>, kNr = kPanelColumns<Arch>;
  const float* a[kRows];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) a[r] = rows + place.row_of(row + r) * lda;
  sums += row * kNr;
  const float* b = run.values;
  const float* scales = run.scales;
  for (int64_t left = run.count; left > 0; left -= kPackedBlock, scales += kNr) {
    V part[kRows][kVecs];
#pragma GCC unroll 32
    for (auto& of_row : part) {
#pragma GCC unroll 32
      for (V& v : of_row) v = V(0.0f);
    }
    const int64_t count = left < kPackedBlock ? left : kPackedBlock;
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
    float* all = sums;
    asm("" : "+r"(all));  // one address: compilers would keep the address of each sum
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

/// Compute up to kPackedGroup rows of a panel, a run of blocks at a time.
template <class Arch, class Values>
[[gnu::noinline]] void block_group(const BlockProduct& product, int64_t col) RILL_NONBLOCKING {
  constexpr int kNr = kPanelColumns<Arch>, kRows = kBlockRows<Arch>;
  constexpr int64_t kRun = kBlocksOfRun<Arch> * kPackedBlock;
  const MatmulF32Args& g = product.g;
  const auto rows = static_cast<int>(g.m);
  // The last tile may extend up to three rows past the last row.
  const FewRows place{col, rows, rows + 3, kPanelVecs<Arch>};
  alignas(64) float sums[(kPackedGroup + 3) * kNr];
  BlockRun<Arch> run;
  start_few<Arch>(g, place, sums);
  const std::byte* panel = product.b + col / kNr * product.panel_bytes;
  for (int64_t s = 0; s < g.segments; ++s) {
    const float* a = g.a + s * g.segment_stride;
    for (int64_t left = g.segment_len; left > 0; left -= kRun, a += kRun) {
      write_run<Arch, Values>(product, panel, left < kRun ? left : kRun, &run);
      panel += (run.count + kPackedBlock - 1) / kPackedBlock * kBlockBytes<Arch, Values>;
      for (int row = 0; row < rows;) {
        if (fits_rows<kRows>(rows - row)) {
          add_run<Arch, kRows>(a, g.lda, place, row, run, sums);
          row += kRows;
        } else {
          add_run<Arch, 4>(a, g.lda, place, row, run, sums);
          row += 4;
        }
      }
    }
  }
  finish_few<Arch>(g, place, sums);
}

/// Concatenate the segments of every row of A, with zeros up to a multiple of `unit`.
RILL_INLINE void join_segments(int64_t unit, float* to, MatmulF32Args* g) {
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

/// Compute all of C, for any number of rows.
template <class Arch, class Values>
void matmul_blocks(const MatmulPackedArgs& args, PackedFormat format) {
  const MatmulF32Args& g = args.product;
  if (g.m <= 0 || g.n <= 0) return;
  BlockProduct product(g, args.b, format, kPanelColumns<Arch>);
  for (int64_t row = 0; row < g.m; row += kPackedGroup) {
    product.g = g;
    product.g.m = g.m - row < kPackedGroup ? g.m - row : kPackedGroup;
    product.g.a = g.a + row * g.lda;
    product.g.c = g.c + row * g.ldc;
    product.g.residual = g.residual == nullptr ? nullptr : g.residual + row * g.ldr;
    if (g.segment_len % kPackedBlock != 0) {
      // Blocks may cross segment ends, and the last word may have more values than A.
      join_segments(Values::kBits == 4 ? kQ4Unit : 1, args.scratch, &product.g);
    }
    if (product.g.m == 1) {
      blocks_few_rows<Arch, Values, 1>(product);
    } else if (product.g.m == 2) {
      blocks_few_rows<Arch, Values, 2>(product);
    } else if (product.g.m <= 4) {
      blocks_few_rows<Arch, Values, 4>(product);
    } else {
      for (int64_t col = 0; col < g.n; col += kPanelColumns<Arch>) {
        block_group<Arch, Values>(product, col);
      }
    }
  }
}

}  // namespace
}  // namespace rill::kernels
