#pragma once

// The inner loops of the scalar tier: sums side by side, each a chain of multiply-adds in the order
// of its terms. On processors whose only vectors are Helium, four sums run at once. Helium's
// multiply-add rounds once, like `mul_add` there, so the bits are the same.

#include <cstddef>
#include <cstdint>

#include "kernels/simd/mul_add.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) != 0
#include <arm_mve.h>
#define RILL_HELIUM
#endif

namespace rill::kernels {
namespace {

#ifdef RILL_HELIUM
/// Four floats in memory with the alignment of a float. GCC 12 treats the memory that `vldrwq_f32`
/// reads as integers, and moves the load before the stores of the floats.
using FourFloats = float32x4_t __attribute__((aligned(4), may_alias));
inline float32x4_t load_four(const float* p) { return *reinterpret_cast<const FourFloats*>(p); }
inline void store_four(float* p, float32x4_t v) { *reinterpret_cast<FourFloats*>(p) = v; }
#endif

/// Compute sums[j] + a[0] * b[j] + a[1] * b[kCount + j] + ... of `terms` terms, for j < kCount.
template <int kCount>
[[gnu::noinline]] void add_chains(int64_t terms, const float* a, const float* b,
                                  float (&sums)[kCount]) {
#ifdef RILL_HELIUM
  constexpr int kVectors = (kCount + 3) / 4;
  // If the last vector is partial, its unused lanes read the next terms. The last term has no next
  // one, so compute its lanes one by one.
  constexpr size_t kAlone = (4 * kVectors - 1) / kCount;
  size_t alone = static_cast<size_t>(terms) < kAlone ? static_cast<size_t>(terms) : kAlone;
  size_t left = static_cast<size_t>(terms) - alone;
  float lanes[4 * kVectors] = {};
  for (int j = 0; j < kCount; ++j) lanes[j] = sums[j];
  float32x4_t sum[kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) sum[i] = load_four(lanes + 4 * i);
  const auto add = [&](int term) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      sum[i] = vfmaq_n_f32(sum[i], load_four(b + term * kCount + 4 * i), a[term]);
    }
  };
  for (; left >= 4; left -= 4, a += 4, b += 4 * kCount) {
#pragma GCC unroll 4
    for (int term = 0; term < 4; ++term) add(term);
  }
  for (; left > 0; --left, ++a, b += kCount) add(0);
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) store_four(lanes + 4 * i, sum[i]);
  for (; alone > 0; --alone, ++a, b += kCount) {
    for (int j = 0; j < kCount; ++j) lanes[j] = mul_add(*a, b[j], lanes[j]);
  }
  for (int j = 0; j < kCount; ++j) sums[j] = lanes[j];
#else
  float sum[kCount];
#pragma GCC unroll 8
  for (int j = 0; j < kCount; ++j) sum[j] = sums[j];
  for (auto left = static_cast<size_t>(terms); left > 0; --left, b += kCount) {
    const float value = *a++;
#pragma GCC unroll 8
    for (int j = 0; j < kCount; ++j) sum[j] = mul_add(value, b[j], sum[j]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < kCount; ++j) sums[j] = sum[j];
#endif
}

}  // namespace
}  // namespace rill::kernels
