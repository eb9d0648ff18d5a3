#pragma once

// The few functions that vector code needs besides operators, with the same names for a batch of
// any tier and for one float. A tier file is compiled with a macro that renames `xsimd`, and so
// sees the batches; any other file sees `ScalarLane` only.
//
// Everything is in an unnamed namespace: the linker must never use a function compiled for one tier
// in another.

#include <cstddef>
#include <cstdint>

#include "kernels/simd/mul_add.h"

#ifdef xsimd
// GCC 12 initialises a variable with itself in its AVX-512 intrinsics, and warns about it wherever
// they are inlined. The pragma lasts to the end of the file, because the warning appears at the
// use.
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "kernels/simd/neon_impl.h"
#endif

namespace rill::kernels::math {
namespace {

/// One float, with the interface of a batch of width 1.
struct ScalarLane {
  using Mask = bool;
  static constexpr size_t size = 1;
  float v = 0.0f;

  ScalarLane() = default;
  ScalarLane(float value) : v(value) {}  // implicit, as for a batch

  static ScalarLane load_unaligned(const float* p) { return *p; }
  void store_unaligned(float* p) const { *p = v; }
  float get(size_t) const { return v; }

  friend ScalarLane operator+(ScalarLane a, ScalarLane b) { return a.v + b.v; }
  friend ScalarLane operator-(ScalarLane a, ScalarLane b) { return a.v - b.v; }
  friend ScalarLane operator*(ScalarLane a, ScalarLane b) { return a.v * b.v; }
  friend bool operator<(ScalarLane a, ScalarLane b) { return a.v < b.v; }
  friend bool operator<=(ScalarLane a, ScalarLane b) { return a.v <= b.v; }
  friend bool operator>(ScalarLane a, ScalarLane b) { return a.v > b.v; }
  friend bool operator>=(ScalarLane a, ScalarLane b) { return a.v >= b.v; }
  friend bool operator==(ScalarLane a, ScalarLane b) { return a.v == b.v; }
  friend bool operator!=(ScalarLane a, ScalarLane b) { return a.v != b.v; }
};

inline uint32_t float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float bits_float(uint32_t x) { return __builtin_bit_cast(float, x); }

/// Whether `mul_add` rounds once.
template <class V>
constexpr bool kFusesMulAdd = false;
#ifndef __wasm__
template <>
constexpr bool kFusesMulAdd<ScalarLane> = true;
#endif

inline ScalarLane mul_add(ScalarLane a, ScalarLane b, ScalarLane c) {
  return kernels::mul_add(a.v, b.v, c.v);
}
inline ScalarLane divide(ScalarLane a, ScalarLane b) { return a.v / b.v; }
inline ScalarLane root(ScalarLane a) { return __builtin_sqrtf(a.v); }
inline ScalarLane pick(bool m, ScalarLane a, ScalarLane b) { return m ? a : b; }
inline ScalarLane min_or_second(ScalarLane a, ScalarLane b) { return a.v < b.v ? a : b; }
inline ScalarLane max_or_second(ScalarLane a, ScalarLane b) { return a.v > b.v ? a : b; }
inline ScalarLane magnitude(ScalarLane a) { return __builtin_fabsf(a.v); }
inline ScalarLane negate(ScalarLane a) { return -a.v; }
inline ScalarLane with_sign_of(ScalarLane a, ScalarLane s) { return __builtin_copysignf(a.v, s.v); }
inline ScalarLane round_down(ScalarLane a) { return __builtin_floorf(a.v); }
inline ScalarLane round_up(ScalarLane a) { return __builtin_ceilf(a.v); }
inline ScalarLane round_to_even(ScalarLane a) { return __builtin_nearbyintf(a.v); }
inline bool all_true(bool m) { return m; }

/// Compute 2^k for an integer k in [-126, 127]; the result for any other k is unspecified.
inline ScalarLane two_to(ScalarLane k) {
  const bool valid = k.v >= -126.0f && k.v <= 127.0f;  // the cast of any other value is undefined
  return bits_float(static_cast<uint32_t>(valid ? static_cast<int32_t>(k.v) + 127 : 0) << 23);
}

/// Adding this constant rounds a number to an integer; `two_to_shifted` then computes 2^k from the
/// sum.
constexpr float kWholeShift = 0x1.8p23f + 127.0f;

/// Compute 2^k from k + kWholeShift for an integer k in [-126, 127]; the result for any other k is
/// unspecified.
inline ScalarLane two_to_shifted(ScalarLane shifted) {
  return bits_float(float_bits(shifted.v) << 23);
}

/// Return the float nearest to the i32 that has the bits of x, ties to even.
inline ScalarLane of_integer(ScalarLane x) {
  return static_cast<float>(static_cast<int32_t>(float_bits(x.v)));
}

/// Split a normal x > 0 into m in [1, 2) and an integer e, x = m * 2^e.
inline ScalarLane split_exponent(ScalarLane x, ScalarLane* e) {
  const uint32_t bits = float_bits(x.v);
  *e = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127);
  return bits_float((bits & 0x007fffffu) | 0x3f800000u);
}

#ifdef xsimd

template <class A>
using Batch = xsimd::batch<float, A>;
template <class A>
using BatchMask = xsimd::batch_bool<float, A>;

#if defined(__FMA__) || defined(__aarch64__)
template <class A>
constexpr bool kFusesMulAdd<Batch<A>> = true;
#endif

/// Compute a * b + c: one rounding in the tiers that have the instruction, two in the others.
/// xsimd 8.1 has no fused form for AVX-512: its `fma` rounds twice there.
template <class A>
inline Batch<A> mul_add(const Batch<A>& a, const Batch<A>& b, const Batch<A>& c) {
#if defined(__AVX512F__)
  return Batch<A>(_mm512_fmadd_ps(a, b, c));
#else
  return xsimd::fma(a, b, c);
#endif
}

// On NEON, xsimd 8.1 estimates quotients and roots, and its roundings lose -0. AArch64 has exact
// instructions for all of them; 32-bit Arm has them for single floats.
#if defined(__aarch64__)
template <class A>
inline Batch<A> divide(const Batch<A>& a, const Batch<A>& b) {
  return Batch<A>(vdivq_f32(a, b));
}
template <class A>
inline Batch<A> root(const Batch<A>& a) {
  return Batch<A>(vsqrtq_f32(a));
}
template <class A>
inline Batch<A> round_down(const Batch<A>& a) {
  return Batch<A>(vrndmq_f32(a));
}
template <class A>
inline Batch<A> round_up(const Batch<A>& a) {
  return Batch<A>(vrndpq_f32(a));
}
template <class A>
inline Batch<A> round_to_even(const Batch<A>& a) {
  return Batch<A>(vrndnq_f32(a));
}
#else
#if defined(__ARM_NEON)
template <class A>
inline Batch<A> divide(const Batch<A>& a, const Batch<A>& b) {
  float x[4], y[4];
  a.store_unaligned(x);
  b.store_unaligned(y);
  for (int i = 0; i < 4; ++i) x[i] /= y[i];
  return Batch<A>::load_unaligned(x);
}
template <class A>
inline Batch<A> root(const Batch<A>& a) {
  float x[4];
  a.store_unaligned(x);
  for (float& lane : x) lane = __builtin_sqrtf(lane);
  return Batch<A>::load_unaligned(x);
}
#else
template <class A>
inline Batch<A> divide(const Batch<A>& a, const Batch<A>& b) {
  return a / b;
}
template <class A>
inline Batch<A> root(const Batch<A>& a) {
  return xsimd::sqrt(a);
}
#endif
template <class A>
inline Batch<A> round_down(const Batch<A>& a) {
  return xsimd::floor(a);
}
template <class A>
inline Batch<A> round_up(const Batch<A>& a) {
#if defined(__ARM_NEON)
  return Batch<A>(vbslq_f32(vdupq_n_u32(0x80000000u), a, xsimd::ceil(a)));  // -0.5 gives -0
#else
  return xsimd::ceil(a);
#endif
}
template <class A>
inline Batch<A> round_to_even(const Batch<A>& a) {
  return xsimd::nearbyint(a);
}
#endif

template <class A>
inline Batch<A> pick(const BatchMask<A>& m, const Batch<A>& a, const Batch<A>& b) {
  return xsimd::select(m, a, b);
}

/// Compute a < b ? a : b, so b if either is NaN, like minps and unlike NEON's fmin.
template <class A>
inline Batch<A> min_or_second(const Batch<A>& a, const Batch<A>& b) {
#if defined(__ARM_NEON)
  return xsimd::select(a < b, a, b);
#else
  return xsimd::min(a, b);
#endif
}

/// Compute a > b ? a : b, so b if either is NaN.
template <class A>
inline Batch<A> max_or_second(const Batch<A>& a, const Batch<A>& b) {
#if defined(__ARM_NEON)
  return xsimd::select(a > b, a, b);
#else
  return xsimd::max(a, b);
#endif
}

template <class A>
inline Batch<A> magnitude(const Batch<A>& a) {
  return a & Batch<A>(bits_float(0x7fffffffu));
}
template <class A>
inline Batch<A> negate(const Batch<A>& a) {
  return a ^ Batch<A>(-0.0f);
}
template <class A>
inline Batch<A> with_sign_of(const Batch<A>& a, const Batch<A>& s) {
  return magnitude(a) | (s & Batch<A>(-0.0f));
}
template <class A>
inline bool all_true(const BatchMask<A>& m) {
  return xsimd::all(m);
}

template <class A>
inline Batch<A> two_to(const Batch<A>& k) {
  const xsimd::batch<int32_t, A> bits = (xsimd::to_int(k) + 127) << 23;
  return xsimd::bitwise_cast<Batch<A>>(bits);
}

template <class A>
inline Batch<A> two_to_shifted(const Batch<A>& shifted) {
  const auto bits = xsimd::bitwise_cast<xsimd::batch<int32_t, A>>(shifted) << 23;
  return xsimd::bitwise_cast<Batch<A>>(bits);
}

template <class A>
inline Batch<A> of_integer(const Batch<A>& x) {
  return xsimd::to_float(xsimd::bitwise_cast<xsimd::batch<int32_t, A>>(x));
}

template <class A>
inline Batch<A> split_exponent(const Batch<A>& x, Batch<A>* e) {
  using Int = xsimd::batch<int32_t, A>;
  const Int bits = xsimd::bitwise_cast<Int>(x);
  *e = xsimd::to_float((bits >> 23) - Int(127));
  return xsimd::bitwise_cast<Batch<A>>((bits & Int(0x007fffff)) | Int(0x3f800000));
}

#endif  // xsimd

#if defined(xsimd) && defined(__AVX2__) && !defined(__AVX512F__)
/// Build the mask of the first n of 8 lanes.
inline __m256i first_lanes(size_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane);
}
#endif

/// Load n floats, 0 < n < width; the other lanes are 0, and their memory is not touched.
template <class V>
inline V load_partial(const float* p, size_t n) {
#if defined(xsimd) && defined(__AVX512F__)
  return V(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p));
#elif defined(xsimd) && defined(__AVX2__)
  return V(_mm256_maskload_ps(p, first_lanes(n)));
#elif defined(xsimd) && defined(__SSE4_2__)
  const __m128 first =
      n > 1 ? _mm_loadl_pi(_mm_setzero_ps(), reinterpret_cast<const __m64*>(p)) : _mm_load_ss(p);
  return V(n > 2 ? _mm_movelh_ps(first, _mm_load_ss(p + 2)) : first);
#else
  float pad[V::size] = {};
  for (size_t i = 0; i < n; ++i) pad[i] = p[i];
  return V::load_unaligned(pad);
#endif
}

/// Store the first n lanes, 0 < n < width.
template <class V>
inline void store_partial(const V& x, float* p, size_t n) {
#if defined(xsimd) && defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), x);
#elif defined(xsimd) && defined(__AVX2__)
  _mm256_maskstore_ps(p, first_lanes(n), x);
#elif defined(xsimd) && defined(__SSE4_2__)
  if (n == 1) return _mm_store_ss(p, x);
  _mm_storel_pi(reinterpret_cast<__m64*>(p), x);
  if (n > 2) _mm_store_ss(p + 2, _mm_movehl_ps(x, x));
#else
  float pad[V::size];
  x.store_unaligned(pad);
  for (size_t i = 0; i < n; ++i) p[i] = pad[i];
#endif
}

/// Take a in the first n lanes and b in the others.
template <class V>
inline V first_of(size_t n, const V& a, const V& b) {
  constexpr float kIndex[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  static_assert(V::size <= 16);
  return pick(V::load_unaligned(kIndex) < V(static_cast<float>(n)), a, b);
}

/// Combine all lanes by `f`, in the order of a binary tree: lane i with lane i + half.
template <class V, class F>
inline float fold_lanes(const V& x, F f) {
#if defined(xsimd) && defined(__AVX512F__)
  const V by_8 = f(x, V(_mm512_shuffle_f32x4(x, x, 0x4e)));
  const V by_4 = f(by_8, V(_mm512_shuffle_f32x4(by_8, by_8, 0xb1)));
  const V by_2 = f(by_4, V(_mm512_permute_ps(by_4, 0x4e)));
  return _mm512_cvtss_f32(f(by_2, V(_mm512_permute_ps(by_2, 0xb1))));
#elif defined(xsimd) && defined(__AVX2__)
  const V by_4 = f(x, V(_mm256_permute2f128_ps(x, x, 1)));
  const V by_2 = f(by_4, V(_mm256_permute_ps(by_4, 0x4e)));
  return _mm256_cvtss_f32(f(by_2, V(_mm256_permute_ps(by_2, 0xb1))));
#else
  float lane[V::size];
  x.store_unaligned(lane);
  for (size_t half = V::size / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i)
      lane[i] = f(ScalarLane(lane[i]), ScalarLane(lane[i + half])).v;
  }
  return lane[0];
#endif
}

/// Combine all lanes of each of four vectors by `f`, each as `fold_lanes` does.
template <class V, class F>
inline void fold_lanes(const V (&x)[4], F f, float* out) {
#if defined(xsimd) && defined(__AVX512F__)
  const auto by_8 = [&](const V& a, const V& b) {
    return f(V(_mm512_shuffle_f32x4(a, b, 0x44)), V(_mm512_shuffle_f32x4(a, b, 0xee)));
  };
  const V a = by_8(x[0], x[1]), b = by_8(x[2], x[3]);
  const V by_4 = f(V(_mm512_shuffle_f32x4(a, b, 0x88)), V(_mm512_shuffle_f32x4(a, b, 0xdd)));
  const V by_2 = f(by_4, V(_mm512_permute_ps(by_4, 0x4e)));
  const V all = f(by_2, V(_mm512_permute_ps(by_2, 0xb1)));
  _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, all)));
#else
  for (int k = 0; k < 4; ++k) out[k] = fold_lanes(x[k], f);
#endif
}

/// Call `f` on every lane of x: for functions that have no vector form.
template <class V, class F>
inline V map_lanes(const V& x, F f) {
  float lane[V::size];
  x.store_unaligned(lane);
  for (size_t i = 0; i < V::size; ++i) lane[i] = f(lane[i]);
  return V::load_unaligned(lane);
}

}  // namespace
}  // namespace rill::kernels::math
