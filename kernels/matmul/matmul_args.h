#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

// Apart from matmul.h so that tier files see nothing but plain data and declarations.

namespace rill::kernels {

/// Arguments of a matrix product: where A, B and C lie and what is done to each sum before it is
/// stored. C is written for columns < n only, so that it may be a slice of a wider buffer.
struct MatmulF32Args {
  int64_t m = 0, n = 0;  // rows of A and C; columns of B and C

  // A(i, s * segment_len + j) = a[i * lda + s * segment_stride + j], j < segment_len. A row may be
  // one segment of k values; a window with holes (dilation, 2-D) has several. `lda` may be smaller
  // than a row, so that rows overlap: a convolution along time without im2col.
  int64_t segments = 1, segment_len = 0, segment_stride = 0;
  const float* a = nullptr;
  int64_t lda = 0;

  const float* b = nullptr;  // as `matmul_f32_pack` writes it, aligned to 64 bytes
  bool whole_panels = false;  // B has nr columns in every panel, also where n needs fewer vectors

  float* c = nullptr;  // overlaps neither A nor B
  int64_t ldc = 0;

  const float* bias = nullptr;  // n values where the chains start, or null
  bool accumulate = false;      // chains start from c, and bias takes no part

  // Added after the chain, or null. May be c itself; otherwise it does not overlap c.
  const float* residual = nullptr;
  int64_t ldr = 0;

  // Factor of values below 0: above 0, at most 1. A NaN stays.
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
