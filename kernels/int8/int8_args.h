#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/nonblocking.h"

// Separate from int8.h so that tier files include only plain data and declarations.

namespace rill::kernels {

/// Arguments of an int8 matmul. Sums wrap at 32 bits.
struct MatmulInt8Args {
  int64_t m = 0, n = 0;  ///< rows of A and C; columns of B and C

  /// A(i, s * segment_len + j) = row(i)[s * segment_stride + j], j < segment_len; in bytes.
  int64_t segments = 1, segment_len = 0, segment_stride = 0;
  /// row(i) = a + i / run * run_stride + i % run * lda; run = 0 means one run of all rows.
  const uint8_t* a = nullptr;
  int64_t lda = 0, run = 0, run_stride = 0;
  bool a_signed = false;  ///< whether the bytes of A are i8, else u8

  const int8_t* b = nullptr;       ///< as `matmul_int8_pack` writes it, aligned to 64 bytes
  const int32_t* start = nullptr;  ///< n values, as `matmul_int8_start` gives them
  int32_t b_zero = 0;              ///< subtracted from every value of B

  int32_t* c = nullptr;
  int64_t ldc = 0;

  uint8_t* scratch = nullptr;  ///< as long as `matmul_int8_scratch_bytes` says, aligned to 64 bytes
};

/// Rows of A that share one pass over B, if a converted row has `row_bytes` bytes.
constexpr int64_t matmul_int8_block(int64_t row_bytes) {
  constexpr int64_t kBytes = 128 * 1024, kTile = 8;
  const int64_t fit = kBytes / row_bytes / kTile * kTile;
  return fit > kTile ? fit : kTile;
}

/// Requantization: ((x * mul) / div + before, rounded half to even) + after, limited to [lo, hi];
/// NaN gives 0. With `narrow`, each of the three results is rounded to f32, else to f64.
struct Rounding {
  double mul = 1, div = 1, before = 0, after = 0;
  double lo = 0, hi = 255;
  bool narrow = false;
};

/// n contiguous numbers, and their rounding.
struct QuantiseArgs {
  Rounding rounding;
  int64_t n = 0;
  const int32_t* integers = nullptr;  ///< the numbers to round; or else
  const float* floats = nullptr;
  void* y = nullptr;
  int y_bytes = 1;  ///< 1, 2 or 4 for each of the results
  bool has_size() const { return y_bytes == 1 || y_bytes == 2 || y_bytes == 4; }
};

#define RILL_KERNEL(needs, dot, name, columns, depth, a_form) \
  void matmul_int8_##name(const MatmulInt8Args& args) noexcept RILL_NONBLOCKING;
#include "kernels/int8/kernels.inc"
#undef RILL_KERNEL

#define RILL_KERNEL(needs, name) \
  void quantise_##name(const QuantiseArgs& args) noexcept RILL_NONBLOCKING;
#include "kernels/int8/quantise.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
