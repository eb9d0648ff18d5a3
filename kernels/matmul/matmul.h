#pragma once

#include <cstdint>

#include "kernels/list.h"
#include "kernels/matmul/matmul_args.h"

namespace rill::kernels {

/// One implementation of the f32 matrix product.
struct MatmulF32 {
  const char* name;
  Tier tier;
  int nr;  // columns per panel of the packed B

  /// Compute C = clip(A B + bias + residual), with the operands of `MatmulF32Args`.
  /// Shapes: A [m, k], B [k, n] packed, C [m, n]; k = segments * segment_len; any may be 0.
  /// Types: f32; every pointer but `b` may be unaligned.
  /// Accuracy: c[i, j] is one chain of fused multiply-adds over ascending k, which starts from the
  /// bias, from 0 or from c: the same bits for any m, any position of the row and any blocking, and
  /// on every tier but SSE4.2, where each link rounds twice (a product, then a sum).
  /// Real-time: yes.
  void (*run)(const MatmulF32Args& args) noexcept RILL_NONBLOCKING;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`. The result lives for ever.
/// Real-time: no, call it at prepare.
const MatmulF32& matmul_f32(Tier cpu);

/// Choose the best implementation for products of `n` columns: that of the active tier, or of half
/// its width where that leaves fewer lanes empty and takes no longer.
/// Real-time: no, call it at prepare.
const MatmulF32& matmul_f32_of_columns(int64_t n);

/// Give every kernel of the family that this build has; the argument only names the family.
KernelList<MatmulF32> kernels_like(const MatmulF32*);

/// Return how many floats `matmul_f32_pack` writes for a B of [k, n]: whole panels; of a single
/// one the vectors that n fills.
int64_t matmul_f32_packed_floats(const MatmulF32& kernel, int64_t k, int64_t n);

/// Pack B into panels [ceil(n / nr)][k][nr], the columns past n zero. A single panel lacks the
/// vectors that would be all zero.
/// Shapes: B(p, j) = b[p * k_stride + j * n_stride], p < k, j < n. Strides may be 0 or negative.
/// Types: f32; `packed` is aligned to 64 bytes.
/// Real-time: yes; fast if either stride is 1.
void matmul_f32_pack(const MatmulF32& kernel, int64_t k, int64_t n, const float* b,
                     int64_t k_stride, int64_t n_stride, float* packed) noexcept RILL_NONBLOCKING;

}  // namespace rill::kernels
