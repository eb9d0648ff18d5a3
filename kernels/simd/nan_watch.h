#pragma once

// Detects a NaN among many numbers. The instructions of x86 for extremes return their second
// operand if either is a NaN, so a chain of them can lose the NaN. Kernels compute the extremes,
// watch for a NaN at the same time, and handle NaN separately, since it is rare.

#include "kernels/simd/lanes.h"

namespace rill::kernels::math {
namespace {

/// Detects a NaN in any lane of the vectors seen. A pair of vectors takes two instructions, or one
/// with AVX-512, where pairs of different chains are independent.
template <class V>
class NanWatch;

template <>
class NanWatch<ScalarLane> {
 public:
  void see(ScalarLane a, ScalarLane b, int = 0) { found_ |= a.v != a.v || b.v != b.v; }
  bool found() const { return found_; }

 private:
  bool found_ = false;
};

#ifdef xsimd

#if defined(__AVX512F__)
template <class A>
class NanWatch<Batch<A>> {
 public:
  void see(const Batch<A>& a, const Batch<A>& b, int chain = 0) {
    numbers_[chain % 4] = _mm512_mask_cmp_ps_mask(numbers_[chain % 4], a, b, _CMP_ORD_Q);
  }
  bool found() const {
    return (numbers_[0] & numbers_[1] & numbers_[2] & numbers_[3]) != kAll;
  }

 private:
  static constexpr __mmask16 kAll = 0xffff;
  __mmask16 numbers_[4] = {kAll, kAll, kAll, kAll};
};
#elif defined(__AVX2__) || defined(__SSE4_2__)
template <class A>
class NanWatch<Batch<A>> {
 public:
  void see(const Batch<A>& a, const Batch<A>& b, int = 0) {
#if defined(__AVX2__)
    numbers_ = numbers_ & BatchMask<A>(_mm256_cmp_ps(a, b, _CMP_ORD_Q));
#else
    numbers_ = numbers_ & BatchMask<A>(_mm_cmpord_ps(a, b));
#endif
  }
  bool found() const { return !all_true(numbers_); }

 private:
  BatchMask<A> numbers_ = Batch<A>(0.0f) == Batch<A>(0.0f);
};
#elif defined(__ARM_NEON)
/// Arm's instruction propagates NaN.
template <class A>
class NanWatch<Batch<A>> {
 public:
  void see(const Batch<A>& a, const Batch<A>& b, int = 0) {
    most_ = Batch<A>(vmaxq_f32(most_, vmaxq_f32(a, b)));
  }
  bool found() const { return !all_true(most_ == most_); }

 private:
  Batch<A> most_ = Batch<A>(0.0f);
};
#endif

#endif  // xsimd

}  // namespace
}  // namespace rill::kernels::math
