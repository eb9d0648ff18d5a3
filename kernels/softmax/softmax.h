#pragma once

#include <cstdint>

#include "kernels/list.h"

namespace rill::kernels {

/// Rows to normalise; strides in floats from one row to the next.
struct SoftmaxF32Args {
  int64_t rows = 0;
  int64_t n = 0;
  const float* x = nullptr;
  int64_t x_stride = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  bool log = false;
};

/// Compute exp(x - m) / sum exp(x - m) along each row, m the row's maximum; or if `log`, the
/// logarithm of that. A row that contains NaN or +infinity, or only -infinity, becomes NaN.
/// Shapes: x [rows, n] -> y [rows, n], elements of a row contiguous. y == x is allowed.
/// Accuracy: 6e-8 (10 + d + sqrt n) relative, d the largest m - x; for `log` that much absolute,
/// and 1.2e-7 relative. A row's result depends on the row only. Real-time: yes. Source:
/// nnef-dialect.md, section 10.
using SoftmaxF32Fn = void (*)(const SoftmaxF32Args& args) noexcept RILL_NONBLOCKING;

/// Choose the function for a CPU; never null. Real-time: no, call it at prepare.
SoftmaxF32Fn softmax_f32(Tier cpu = active_tier()) noexcept;

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<NamedKernel<SoftmaxF32Fn>> kernels_like(SoftmaxF32Fn);

#define RILL_KERNEL(needs, name) void name(const SoftmaxF32Args& args) noexcept RILL_NONBLOCKING;
#include "kernels/softmax/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
