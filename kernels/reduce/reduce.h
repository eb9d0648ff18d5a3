#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "kernels/list.h"

namespace rill::kernels {

enum class ReduceOp : uint8_t { kSum, kMax, kMin, kProd, kSumSquares };

/// Compute the larger of two numbers, the first of equal ones; NaN if either is NaN.
/// While denormals are flushed, the vector instructions of x86 return 0 for a denormal. So does the
/// scalar instruction used here; for a comparison, the compiler may choose others.
inline float larger_of(float a, float b) {
#if defined(__SSE__)
  const float most = _mm_cvtss_f32(_mm_max_ss(_mm_set_ss(b), _mm_set_ss(a)));
  return b == b || a != a ? most : b;
#else
  return a != a || b <= a ? a : b;
#endif
}
/// Compute the smaller of two numbers in the same way.
inline float smaller_of(float a, float b) {
#if defined(__SSE__)
  const float least = _mm_cvtss_f32(_mm_min_ss(_mm_set_ss(b), _mm_set_ss(a)));
  return b == b || a != a ? least : b;
#else
  return a != a || b >= a ? a : b;
#endif
}

/// A reduction along the middle one of three axes; any strides, in floats.
struct ReduceF32Args {
  ReduceOp op = ReduceOp::kSum;
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
  const float* x = nullptr;
  int64_t x_outer = 0;
  int64_t x_reduced = 0;
  int64_t x_inner = 0;
  float* y = nullptr;
  int64_t y_outer = 0;
  int64_t y_inner = 0;
  float scale = 1.0f;  // the result is multiplied by it
};

/// Reduce x along its middle axis. Without elements, the result is 0, -infinity, infinity, 1 or 0,
/// times `scale`. kMax and kMin give NaN if an element is NaN.
/// Shapes: x [outer, reduced, inner] -> y [outer, inner]. Fast if x_inner is 1, or if inner is 1
/// and x_outer or x_reduced is 1. The arrays do not overlap. Accuracy: of sums, 6e-8 n times the
/// sum of magnitudes. An output depends only on its elements, n and which stride is 1: sums run in
/// ascending order or, if only x_reduced is 1, by lanes. Real-time: yes.
using ReduceF32Fn = void (*)(const ReduceF32Args& args) noexcept RILL_NONBLOCKING;

/// Return the block size of the CPU's function for contiguous elements: it adds element i of each
/// block to lane i, and the remainder last. Real-time: no, call it at prepare.
int64_t reduce_block_f32(Tier cpu = active_tier()) noexcept;

/// Choose the function for a CPU; never null. Real-time: no, call it at prepare.
ReduceF32Fn reduce_f32(Tier cpu = active_tier()) noexcept;

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<NamedKernel<ReduceF32Fn>> kernels_like(ReduceF32Fn);

#define RILL_KERNEL(needs, name) void name(const ReduceF32Args& args) noexcept RILL_NONBLOCKING;
#include "kernels/reduce/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
