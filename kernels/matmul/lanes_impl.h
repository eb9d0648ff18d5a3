#pragma once

// What the dense families need beyond xsimd 8.1: a fused multiply-add on every tier (xsimd's is a
// multiply and an add on AVX-512), partial loads and stores, and min and max in which NaN loses.

#include <cstdint>

// GCC 12 builds its AVX-512 intrinsics on a variable set to itself, and then warns of it wherever
// they are inlined. In force to the end of the file, since the warning comes at the use.
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>

#define RILL_INLINE __attribute__((always_inline)) inline

namespace rill::kernels {
namespace {

template <class Arch>
using Lanes = xsimd::batch<float, Arch>;

#if defined(__SSE4_2__)
using Sse42 = xsimd::sse4_2;
#endif
#if defined(__AVX2__) && defined(__FMA__)
using Avx2 = xsimd::fma3<xsimd::avx2>;
#endif
#if defined(__AVX512BW__)
using Avx512 = xsimd::avx512bw;
#endif
#if defined(__aarch64__)
using Neon = xsimd::neon64;
#endif

/// Architecture-dependent parts; this general one serves SSE4.2, which has no fused multiply-add:
/// there a link of every chain is a rounded product and a rounded sum, in all paths alike.
template <class Arch>
struct Simd {
  using V = Lanes<Arch>;
  static constexpr int kLanes = static_cast<int>(V::size);
  static constexpr int kRegisters = 16;
  static constexpr bool kMaskedStores = false;
  static constexpr bool kManyPointers = false;  // a register for each row and panel of a tile

  static RILL_INLINE V madd(V a, V b, V c) { return a * b + c; }

  /// Keep an address in a register of its own, where there are many.
  static RILL_INLINE void keep(const float*) {}
  /// Read nothing through `p` before `sum` is made, where there are many.
  static RILL_INLINE void wait(const float*, V) {}

  static RILL_INLINE V load_partial(const float* p, int64_t count) {
    alignas(64) float lanes[kLanes] = {};
    for (int i = 0; i < kLanes; ++i) {
      if (i < count) lanes[i] = p[i];
    }
    return V::load_aligned(lanes);
  }
  static RILL_INLINE void store_partial(float* p, V v, int64_t count) {
    alignas(64) float lanes[kLanes];
    v.store_aligned(lanes);
    for (int i = 0; i < kLanes; ++i) {
      if (i < count) p[i] = lanes[i];
    }
  }

  /// x < y ? x : y, so that a NaN in x gives y.
  static RILL_INLINE V min_or(V x, V y) { return xsimd::select(x < y, x, y); }
  /// x > y ? x : y, so that a NaN in x gives y.
  static RILL_INLINE V max_or(V x, V y) { return xsimd::select(x > y, x, y); }
};

/// The architecture that the kernels of a tier are written for: `Simd` with overrides.
template <class Arch>
struct Ops : Simd<Arch> {};

#if defined(__SSE4_2__)
template <>
struct Ops<Sse42> : Simd<Sse42> {
  static RILL_INLINE V min_or(V x, V y) { return _mm_min_ps(x, y); }
  static RILL_INLINE V max_or(V x, V y) { return _mm_max_ps(x, y); }
};
#endif

#if defined(__AVX2__) && defined(__FMA__)
alignas(64) constexpr int32_t kLaneMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

template <>
struct Ops<Avx2> : Simd<Avx2> {
  static constexpr bool kMaskedStores = true;

  static RILL_INLINE V madd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static RILL_INLINE __m256i mask(int64_t count) {
    const int64_t lanes = count < 0 ? 0 : count > kLanes ? kLanes : count;
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMasks + kLanes - lanes));
  }
  static RILL_INLINE V load_partial(const float* p, int64_t count) {
    return _mm256_maskload_ps(p, mask(count));
  }
  static RILL_INLINE void store_partial(float* p, V v, int64_t count) {
    _mm256_maskstore_ps(p, mask(count), v);
  }
  static RILL_INLINE V min_or(V x, V y) { return _mm256_min_ps(x, y); }
  static RILL_INLINE V max_or(V x, V y) { return _mm256_max_ps(x, y); }
};
#endif

#if defined(__AVX512BW__)
template <>
struct Ops<Avx512> : Simd<Avx512> {
  static constexpr int kRegisters = 32;
  static constexpr bool kMaskedStores = true;

  static RILL_INLINE V madd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static RILL_INLINE __mmask16 mask(int64_t count) {
    const int64_t lanes = count < 0 ? 0 : count > kLanes ? kLanes : count;
    return static_cast<__mmask16>((1u << lanes) - 1u);
  }
  static RILL_INLINE V load_partial(const float* p, int64_t count) {
    return _mm512_maskz_loadu_ps(mask(count), p);
  }
  static RILL_INLINE void store_partial(float* p, V v, int64_t count) {
    _mm512_mask_storeu_ps(p, mask(count), v);
  }
  static RILL_INLINE V min_or(V x, V y) { return _mm512_min_ps(x, y); }
  static RILL_INLINE V max_or(V x, V y) { return _mm512_max_ps(x, y); }
};
#endif

#if defined(__aarch64__)
template <>
struct Ops<Neon> : Simd<Neon> {
  static constexpr int kRegisters = 32;
  static constexpr bool kManyPointers = true;

  static RILL_INLINE void keep(const float*& p) { asm("" : "+r"(p)); }
  static RILL_INLINE void wait(const float*& p, V& sum) { asm("" : "+r"(p), "+w"(sum.data)); }
  static RILL_INLINE V madd(V a, V b, V c) { return vfmaq_f32(c, a, b); }
};
#endif

/// Vectors per panel of a packed matrix.
template <class Arch>
constexpr int kPanelVecs = 2;
#if defined(__aarch64__)
template <>
constexpr int kPanelVecs<Neon> = 4;
#endif

/// Limits of a clip. An infinite limit takes no part, so that NaN loses only to a limit that is
/// there: relu(NaN) = lo, and with both limits min(max(NaN, lo), hi) = lo.
template <class Arch>
struct Clip {
  using V = Lanes<Arch>;
  V lo, hi;
  bool low, high;

  RILL_INLINE Clip(bool clip, float low_limit, float high_limit)
      : lo(low_limit),
        hi(high_limit),
        low(clip && low_limit > -__builtin_inff()),
        high(clip && high_limit < __builtin_inff()) {}
  RILL_INLINE V apply(V v) const {
    if (low) v = Ops<Arch>::max_or(v, lo);
    if (high) v = Ops<Arch>::min_or(v, hi);
    return v;
  }
};

}  // namespace
}  // namespace rill::kernels
