#pragma once

#include <cstdint>

#include "kernels/list.h"
#include "kernels/matmul/matmul_args.h"

namespace rill::kernels {

/// One implementation of the f32 matmul.
struct MatmulF32 {
  const char* name;
  Tier tier;
  int nr;  // columns per panel of the packed B

  /// Compute C = clip(A B + bias + residual), with the operands of `MatmulF32Args`.
  /// Shapes: A [m, k], B [k, n] packed, C [m, n]; k = segments * segment_len; any may be 0.
  /// Types: f32; every pointer but `b` may be unaligned.
  /// Accuracy: c[i, j] is one chain of fused multiply-adds over ascending k, starting from the
  /// bias, 0 or c. It has the same bits for any m, row position and blocking, and on every tier
  /// except SSE4.2, where each link rounds twice (product, then sum).
  /// Real-time: yes.
  void (*run)(const MatmulF32Args& args) noexcept RILL_NONBLOCKING;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`. The result has static
/// lifetime. Real-time: no, call it at prepare.
const MatmulF32& matmul_f32(Tier cpu);

/// Choose the best implementation for products of `n` columns: that of the active tier, or one of
/// half its width if that leaves fewer lanes empty and is no slower.
/// Real-time: no, call it at prepare.
const MatmulF32& matmul_f32_of_columns(int64_t n);

/// Return all kernels of the family in this build; the argument only selects the family.
KernelList<MatmulF32> kernels_like(const MatmulF32*);

/// Return how many floats `matmul_f32_pack` writes for a B of [k, n]: whole panels; for a single
/// panel, the vectors that n fills.
int64_t matmul_f32_packed_floats(const MatmulF32& kernel, int64_t k, int64_t n);

/// Pack B into panels [ceil(n / nr)][k][nr], the columns past n zero. A single panel omits the
/// vectors that would be all zero.
/// Shapes: B(p, j) = b[p * k_stride + j * n_stride], p < k, j < n. Strides may be 0 or negative.
/// Types: f32; `packed` is aligned to 64 bytes.
/// Real-time: yes; fast if either stride is 1.
void matmul_f32_pack(const MatmulF32& kernel, int64_t k, int64_t n, const float* b,
                     int64_t k_stride, int64_t n_stride, float* packed) noexcept RILL_NONBLOCKING;

}  // namespace rill::kernels
