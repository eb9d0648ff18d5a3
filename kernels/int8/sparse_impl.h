#pragma once

#include "kernels/int8/int8_impl.h"
#include "kernels/int8/sparse.h"

// Sums over the blocks of sparse kInt8 panels. Numbers in panels can come from hostile files, so
// positions are limited before they are used.

namespace rill::kernels {
namespace {

constexpr int kStrip = static_cast<int>(sparse_strip(Dot::kLanes));

// Blocks have eight columns, so tiers with longer vectors take half of one.
#if defined(__AVX512VNNI__) && !defined(RILL_SCALAR)
struct StripDot : Bytes {
  using V = __m256i;
  static RILL_INLINE V load(const int8_t* b) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
  }
  static RILL_INLINE V spread(int32_t a) { return _mm256_set1_epi32(a); }
  static RILL_INLINE V add(V sum, V a, V b) { return _mm256_dpbusd_epi32(sum, a, b); }
};
#elif defined(__AVX512BW__) && !defined(RILL_SCALAR)
struct StripDot : Pairs {
  using V = __m256i;
  static RILL_INLINE V load(const int8_t* b) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
  }
  static RILL_INLINE V spread(int32_t a) { return _mm256_set1_epi32(a); }
  static RILL_INLINE V add(V sum, V a, V b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
  }
};
#else
using StripDot = Dot;
#endif

typedef uint32_t StripLanes __attribute__((vector_size(4 * kStrip)));

/// The blocks of a strip.
struct StripBlocks {
  const std::byte* indices;
  const int8_t* values;
  int64_t count, groups;
};

inline StripBlocks strip_blocks(const std::byte* panel, const SparseLayout& layout,
                                int64_t strip) RILL_NONBLOCKING {
  uint32_t ends[2];
  std::memcpy(ends, panel + layout.begins + 4 * strip, sizeof ends);
  const int64_t end = ends[1] < layout.capacity ? ends[1] : layout.capacity;
  const int64_t begin = ends[0] < end ? ends[0] : end;
  constexpr int64_t kBlockBytes = kStrip * kSparseTerms;
  const std::byte* const values = panel + layout.blocks + begin * kBlockBytes;
  return {panel + layout.indices + 2 * begin, reinterpret_cast<const int8_t*>(values), end - begin,
          layout.groups};
}

/// Add block i of a strip to the sums of kRows rows.
template <int kRows>
RILL_INLINE void add_block(const StripBlocks& strip, int64_t i, const uint8_t* const (&row)[kRows],
                           StripDot::V (&sums)[kRows]) {
  constexpr int kVectors = kSparseTerms / Dot::kDepth;
  uint16_t index = 0;
  std::memcpy(&index, strip.indices + 2 * i, sizeof index);
  const int64_t group = index < strip.groups ? index : 0;
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const auto b =
        StripDot::load(strip.values + (i * kSparseTerms + v * Dot::kDepth) * kStrip);
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      int32_t four;
      std::memcpy(&four, row[r] + (group * kVectors + v) * 4, sizeof four);
      sums[r] = StripDot::add(sums[r], StripDot::spread(four), b);
    }
  }
}

/// Compute the sums of a strip, kStrip for each row. Several chains hide the latency of additions.
template <int kRows>
RILL_INLINE void strip_sums(const StripBlocks& strip, const uint8_t* const (&row)[kRows],
                            StripLanes (&sums)[kRows]) {
  constexpr int kChains = kRows == 1 ? 4 : 1;
  StripDot::V acc[kChains][kRows];
#pragma GCC unroll 32
  for (int c = 0; c < kChains; ++c) {
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) acc[c][r] = StripDot::spread(0);
  }
  int64_t i = 0;
  for (; i + kChains <= strip.count; i += kChains) {
#pragma GCC unroll 32
    for (int c = 0; c < kChains; ++c) add_block(strip, i + c, row, acc[c]);
  }
  for (; i < strip.count; ++i) add_block(strip, i, row, acc[0]);
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
    std::memcpy(&sums[r], &acc[0][r], sizeof sums[r]);
#pragma GCC unroll 32
    for (int c = 1; c < kChains; ++c) {
      StripLanes other;
      std::memcpy(&other, &acc[c][r], sizeof other);
      sums[r] += other;
    }
  }
}

}  // namespace
}  // namespace rill::kernels
