#pragma once

#include <type_traits>

#include "kernels/matmul_packed/upcast_impl.h"

// How the values of a panel become floats, one class for each layout of values.

#define RILL_INLINE_LAMBDA __attribute__((always_inline))

namespace rill::kernels {
namespace {

/// The prefetch distance in bytes, about the packed size of a `BlockRun`. The hardware prefetcher
/// alone keeps too few loads in flight, since the kernel spends much time between loads.
constexpr int64_t kBlocksAhead = 4096;

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

/// Values as words of eight nibbles, up to four words per column. `kShort`: loop over pairs of
/// values instead of unrolling all eight. The shifts leave higher bits, which `nibble` ignores.
template <class Arch>
struct Q4Words {
  static constexpr int kBits = 4;
  /// Call f(k, panel, values) for every k of the block and every panel, with the values of the
  /// panel's vectors; `blocks` points to the values of each panel.
  template <int kPanels, bool kShort, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kPanels], int64_t count, F&& f) {
    constexpr int kIn = kPanelVecs<Arch>, kLanes = Ops<Arch>::kLanes;
    for (int64_t p = 0; p < count; p += 8) {
      WholeLanes<Arch> word[kPanels][kIn];
#pragma GCC unroll 32
      for (int i = 0; i < kPanels; ++i) {
#pragma GCC unroll 32
        for (int j = 0; j < kIn; ++j) {
          word[i][j] = WholeLanes<Arch>::load_unaligned(
              reinterpret_cast<const int32_t*>(blocks[i] + (p / 8 * kIn + j) * kLanes * 4));
        }
      }
      const auto one = [&]<int kAt>(int64_t at,
                                    std::integral_constant<int, kAt>) RILL_INLINE_LAMBDA {
#pragma GCC unroll 32
        for (int i = 0; i < kPanels; ++i) {
          Lanes<Arch> values[kIn];
#pragma GCC unroll 32
          for (int j = 0; j < kIn; ++j) values[j] = nibble<Arch, kQ4WordBits[kAt]>(word[i][j]);
          f(p + at, i, values);
        }
      };
      if constexpr (kShort) {
#pragma GCC unroll 1
        for (int64_t at = 0; at < 8; at += 2) {
          one(at, std::integral_constant<int, 0>{});
          one(at + 1, std::integral_constant<int, 1>{});
#pragma GCC unroll 32
          for (auto& of_panel : word) {
#pragma GCC unroll 32
            for (WholeLanes<Arch>& each : of_panel) each = each >> 4;
          }
        }
      } else {
        one(0, std::integral_constant<int, 0>{});
        one(1, std::integral_constant<int, 1>{});
        one(2, std::integral_constant<int, 2>{});
        one(3, std::integral_constant<int, 3>{});
        one(4, std::integral_constant<int, 4>{});
        one(5, std::integral_constant<int, 5>{});
        one(6, std::integral_constant<int, 6>{});
        one(7, std::integral_constant<int, 7>{});
      }
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
  template <int kPanels, bool, class F>
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

/// Values as halves, [k][nr], without blocks and scales. With `kShort`, which tiles of many rows
/// set, prefetch explicitly: they load too seldom for the hardware to prefetch.
template <class Arch>
struct Halves {
  static constexpr int kBits = 16;
  template <int kPanels, bool kShort, class F>
  static RILL_INLINE void read(const std::byte* const (&blocks)[kPanels], int64_t count, F&& f) {
    constexpr int kIn = kPanelVecs<Arch>, kBytes = Ops<Arch>::kLanes * 2;
    for (int64_t p = 0; p < count; ++p) {
#pragma GCC unroll 32
      for (int i = 0; i < kPanels; ++i) {
        const std::byte* at = blocks[i] + p * (kIn * kBytes);
        if constexpr (kShort) __builtin_prefetch(at + kBlocksAhead, 0, 2);
        Lanes<Arch> values[kIn];
#pragma GCC unroll 32
        for (int j = 0; j < kIn; ++j) values[j] = UpcastF16<Arch>::load(at + j * kBytes);
        f(p, i, values);
      }
    }
  }
};

#if defined(__AVX2__) && defined(__FMA__)
/// Values as 32 bytes of two nibbles for four k: the low nibbles hold two k, the high ones the next
/// two. In each 16-byte half, the first eight bytes belong to the first of the two k and the others
/// to the second; bytes alternate between the two vectors of columns. Byte shuffles as table
/// look-ups make the floats, which leaves the FMA ports free.
struct Q4Bytes {
  static constexpr int kBits = 4;
  /// Return a table of 16 bytes, `first` and then `second`, repeated in both 128-bit lanes.
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

  template <int kPanels, bool, class F>
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

}  // namespace
}  // namespace rill::kernels
