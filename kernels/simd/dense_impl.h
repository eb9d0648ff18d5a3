#pragma once

// The dense families' additions to the common lanes: registers, partial loads and stores, clips.

#include <cstdint>

#include "kernels/simd/lanes.h"

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

/// Architecture-dependent parts; this general one serves SSE4.2 and 32-bit Arm.
template <class Arch>
struct Simd {
  using V = Lanes<Arch>;
  static constexpr int kLanes = static_cast<int>(V::size);
  static constexpr int kRegisters = 16;
  static constexpr bool kMaskedStores = false;
  static constexpr bool kManyPointers = false;  // one register per row and panel of a tile
  static constexpr bool kReluAlone = false;     // other clips are rare, and run in memory
  static constexpr int kMostOfRow = 16;         // sums of a tile that has one row

  static RILL_INLINE V madd(V a, V b, V c) { return math::mul_add(a, b, c); }

  /// Keep an address in a separate register, on machines with many.
  static RILL_INLINE void keep(const float*) {}
  /// On machines with many registers, keep loads through `p` after the computation of `sum`.
  static RILL_INLINE void wait(const float*, V) {}

  /// Compute v < 0 ? 0 : v: a NaN stays.
  static RILL_INLINE V above_zero(V v) { return math::max_or_second(V(0.0f), v); }

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
};

/// The architecture that the kernels of a tier are written for: `Simd` with overrides.
template <class Arch>
struct Ops : Simd<Arch> {};

#if defined(__AVX2__) && defined(__FMA__)
alignas(64) constexpr int32_t kLaneMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

template <>
struct Ops<Avx2> : Simd<Avx2> {
  static constexpr bool kMaskedStores = true;

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
};
#endif

#if defined(__AVX512BW__)
template <>
struct Ops<Avx512> : Simd<Avx512> {
  static constexpr int kRegisters = 32;
  static constexpr bool kMaskedStores = true;

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
};
#endif

#if defined(__ARM_NEON)
template <>
struct Ops<Neon> : Simd<Neon> {
#if defined(__aarch64__)
  static constexpr int kRegisters = 32;
  static constexpr bool kManyPointers = true;
  static constexpr bool kReluAlone = true;

  static RILL_INLINE void keep(const float*& p) { asm("" : "+r"(p)); }
  static RILL_INLINE void wait(const float*& p, V& sum) { asm("" : "+r"(p), "+w"(sum.data)); }
  // Needs no register of zeros. All other forms keep -0; vmaxq would turn it into 0.
  static RILL_INLINE V above_zero(V v) {
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    return V(vreinterpretq_f32_u32(vbicq_u32(bits, vcltzq_f32(v))));
  }
#endif
};
#endif

#if defined(__wasm__)
/// V8 has 15 registers on x86-64, and hoists all loads of an iteration before the products. Sums,
/// rows and columns must fit in registers together, or V8 spills them to the stack.
template <>
struct Ops<Sse42> : Simd<Sse42> {
  static constexpr int kRegisters = 11;
  static constexpr bool kManyPointers = true;
  static constexpr int kMostOfRow = 6;

  static RILL_INLINE void keep(const float*& p) { asm("" : "+r"(p)); }
  static RILL_INLINE void wait(const float*& p, V& sum) { asm("" : "+r"(p), "+r"(sum.data)); }
};
#endif

/// Vectors per panel of a packed matrix.
template <class Arch>
constexpr int kPanelVecs = 2;
#if defined(__ARM_NEON)
template <>
constexpr int kPanelVecs<Neon> = 4;
#endif

/// The limits of a clip that propagates NaN. An infinite limit has no effect.
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
    if (low) v = math::max_or_second(lo, v);
    if (high) v = math::min_or_second(hi, v);
    return v;
  }
};

}  // namespace
}  // namespace rill::kernels
