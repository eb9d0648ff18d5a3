#pragma once

// The lane shuffles that transforms need and that xsimd 8.1 lacks in some or all tiers.

#include "kernels/simd/lanes.h"

namespace rill::kernels {
namespace {

/// Store a0 b0 c0 d0 a1 b1 c1 d1 ... to 4 V::size floats.
template <class V>
inline void store_interleaved(const V& a, const V& b, const V& c, const V& d, float* y) {
#if defined(xsimd) && defined(__AVX512F__)
  const __m512d ab_lo = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
  const __m512d ab_hi = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
  const __m512d cd_lo = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
  const __m512d cd_hi = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
  const __m512 r0 = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_lo, cd_lo));  // a0 b0 c0 d0 | a4 ...
  const __m512 r1 = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_lo, cd_lo));  // a1 b1 c1 d1 | a5 ...
  const __m512 r2 = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_hi, cd_hi));
  const __m512 r3 = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_hi, cd_hi));
  const __m512 s0 = _mm512_shuffle_f32x4(r0, r1, 0x44);  // 0 4 | 1 5 by groups
  const __m512 s1 = _mm512_shuffle_f32x4(r2, r3, 0x44);
  const __m512 s2 = _mm512_shuffle_f32x4(r0, r1, 0xee);  // 8 12 | 9 13
  const __m512 s3 = _mm512_shuffle_f32x4(r2, r3, 0xee);
  _mm512_storeu_ps(y, _mm512_shuffle_f32x4(s0, s1, 0x88));
  _mm512_storeu_ps(y + 16, _mm512_shuffle_f32x4(s0, s1, 0xdd));
  _mm512_storeu_ps(y + 32, _mm512_shuffle_f32x4(s2, s3, 0x88));
  _mm512_storeu_ps(y + 48, _mm512_shuffle_f32x4(s2, s3, 0xdd));
#elif defined(xsimd) && defined(__AVX2__)
  const __m256d ab_lo = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
  const __m256d ab_hi = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
  const __m256d cd_lo = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
  const __m256d cd_hi = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
  const __m256 r0 = _mm256_castpd_ps(_mm256_unpacklo_pd(ab_lo, cd_lo));
  const __m256 r1 = _mm256_castpd_ps(_mm256_unpackhi_pd(ab_lo, cd_lo));
  const __m256 r2 = _mm256_castpd_ps(_mm256_unpacklo_pd(ab_hi, cd_hi));
  const __m256 r3 = _mm256_castpd_ps(_mm256_unpackhi_pd(ab_hi, cd_hi));
  _mm256_storeu_ps(y, _mm256_permute2f128_ps(r0, r1, 0x20));
  _mm256_storeu_ps(y + 8, _mm256_permute2f128_ps(r2, r3, 0x20));
  _mm256_storeu_ps(y + 16, _mm256_permute2f128_ps(r0, r1, 0x31));
  _mm256_storeu_ps(y + 24, _mm256_permute2f128_ps(r2, r3, 0x31));
#else
  float lanes[4][V::size];
  a.store_unaligned(lanes[0]);
  b.store_unaligned(lanes[1]);
  c.store_unaligned(lanes[2]);
  d.store_unaligned(lanes[3]);
  for (size_t i = 0; i < V::size; ++i) {
    for (size_t k = 0; k < 4; ++k) y[4 * i + k] = lanes[k][i];
  }
#endif
}

/// Store lanes 4 g to 4 g + 3 at y + g step, for g < quads.
template <class V>
inline void store_quads(const V& v, float* y, int64_t step, int64_t quads) {
#if defined(xsimd) && defined(__AVX512F__)
  _mm_storeu_ps(y, _mm512_castps512_ps128(v));
  if (quads > 1) _mm_storeu_ps(y + step, _mm512_extractf32x4_ps(v, 1));
  if (quads > 2) _mm_storeu_ps(y + 2 * step, _mm512_extractf32x4_ps(v, 2));
  if (quads > 3) _mm_storeu_ps(y + 3 * step, _mm512_extractf32x4_ps(v, 3));
#elif defined(xsimd) && defined(__AVX2__)
  _mm_storeu_ps(y, _mm256_castps256_ps128(v));
  if (quads > 1) _mm_storeu_ps(y + step, _mm256_extractf128_ps(v, 1));
#else
  static_cast<void>(step), static_cast<void>(quads);
  v.store_unaligned(y);
#endif
}

/// Load 2 V::size floats, those with an even index to `even` and the others to `odd`.
template <class V>
inline void load_pairs(const float* p, V* even, V* odd) {
#if defined(xsimd) && defined(__AVX512F__)
  const __m512 a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + 16);
  const __m512i from = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  *even = V(_mm512_permutex2var_ps(a, from, b));
  *odd = V(_mm512_permutex2var_ps(a, _mm512_or_si512(from, _mm512_set1_epi32(1)), b));
#elif defined(xsimd) && defined(__AVX2__)
  const __m256 a = _mm256_loadu_ps(p), b = _mm256_loadu_ps(p + 8);
  const __m256 e = _mm256_shuffle_ps(a, b, 0x88), o = _mm256_shuffle_ps(a, b, 0xdd);
  *even = V(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(e), 0xd8)));
  *odd = V(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(o), 0xd8)));
#else
  float lanes[2][V::size];
  for (size_t i = 0; i < V::size; ++i) {
    lanes[0][i] = p[2 * i];
    lanes[1][i] = p[2 * i + 1];
  }
  *even = V::load_unaligned(lanes[0]);
  *odd = V::load_unaligned(lanes[1]);
#endif
}

/// Load p[0], p[-1], p[-2] ...
template <class V>
inline V load_backward(const float* p) {
  const float* first = p - (static_cast<int64_t>(V::size) - 1);
#if defined(xsimd) && defined(__AVX512F__)
  const __m512i from = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return V(_mm512_permutexvar_ps(from, _mm512_loadu_ps(first)));
#elif defined(xsimd) && defined(__AVX2__)
  const __m256i from = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  return V(_mm256_permutevar8x32_ps(_mm256_loadu_ps(first), from));
#else
  float lanes[V::size];
  for (size_t i = 0; i < V::size; ++i) lanes[i] = first[V::size - 1 - i];
  return V::load_unaligned(lanes);
#endif
}

}  // namespace
}  // namespace rill::kernels
