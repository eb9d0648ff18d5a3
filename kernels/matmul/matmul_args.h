#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

// Separate from matmul.h so that tier files include only plain data and declarations.

namespace rill::kernels {

/// Arguments of a matmul: the operands, and the operations on each sum before it is stored. The
/// kernel only writes columns < n of C, so C may be a slice of a wider buffer.
struct MatmulF32Args {
  int64_t m = 0, n = 0;  // rows of A and C; columns of B and C

  // A(i, s * segment_len + j) = a[i * lda + s * segment_stride + j], j < segment_len. A row may be
  // one segment of k values; a window with holes (dilation, 2-D) has several. `lda` may be smaller
  // than a row, so that rows overlap: a convolution along time without im2col.
  int64_t segments = 1, segment_len = 0, segment_stride = 0;
  const float* a = nullptr;
  int64_t lda = 0;

  const float* b = nullptr;  // as `matmul_f32_pack` writes it, aligned to 64 bytes
  bool whole_panels = false;  // B has nr columns in every panel, even if n needs fewer vectors

  float* c = nullptr;  // overlaps neither A nor B
  int64_t ldc = 0;

  const float* bias = nullptr;  // n initial values of the chains, or null
  bool accumulate = false;      // chains start from c, without bias

  // Added after the chain, or null. May be c itself; otherwise it does not overlap c.
  const float* residual = nullptr;
  int64_t ldr = 0;

  // The factor of negative values, in (0, 1]. A NaN stays.
  float slope = 1.0f;

  // Applied last: min(max(value, lo), hi). A NaN stays.
  bool clip = false;
  float lo = 0.0f, hi = 0.0f;
};

#define RILL_KERNEL(needs, name, columns) \
  void name(const MatmulF32Args& args) noexcept RILL_NONBLOCKING;
#include "kernels/matmul/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
