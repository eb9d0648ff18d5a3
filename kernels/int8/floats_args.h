#pragma once

#include "kernels/matmul_packed/matmul_packed_args.h"

// The part of matmuls of floats in integers that no tier changes: one copy of it walks the tiles of
// all kernels.

namespace rill::kernels {

/// Rows of A as bytes.
struct ByteRows {
  const uint8_t* bytes;
  int64_t stride;
  const float* scales;
  int count;
  int64_t k, columns;  ///< values per row; columns per panel of B
};

/// Compute the sums of rows by `count` vectors of columns, [rows][count][lanes].
using ByteSums = void (*)(const ByteRows& rows, const FewBitsVector* vectors, int count,
                          float* sums) RILL_NONBLOCKING;

/// The sums of some rows of C from column `col` on: [rows][vecs][lanes].
struct SumsOfC {
  int64_t row, col;
  int rows, vecs;
  const float* sums;
};

/// The most sums that a kernel computes at once.
constexpr int kMostByteSums = 8 * 16;

/// The loops of a kernel, whose tiles have at most `kMostByteSums` sums.
struct ByteTiles {
  int lanes;
  int depth;       ///< adjacent values of k in the packed B
  int panel_vecs;  ///< vectors per panel of B
  int row_vecs;    ///< vectors that one row is multiplied by at once: whole panels
  int rows;        ///< rows that are multiplied by one panel at once
  /// Return the bits of the largest magnitude of n floats.
  int32_t (*largest_bits)(const float* from, int64_t n) RILL_NONBLOCKING;
  /// Multiply n floats by `steps` and round them to the bytes of the kernel.
  void (*to_bytes)(const float* from, int64_t n, float steps, uint8_t* to) RILL_NONBLOCKING;
  ByteSums one_row, many_rows;
  /// Add the bias and the residual, limit the results, and store them.
  void (*finish)(const MatmulF32Args& g, const SumsOfC& some) RILL_NONBLOCKING;
};

/// Round a row; see `QuantiseRow`.
float int8_row(const FloatRow& row, const ByteTiles& tiles, uint8_t* to) RILL_NONBLOCKING;

/// Compute a matmul by the tiles of a kernel.
void matmul_by_tiles(const MatmulPackedArgs& args, const ByteTiles& tiles) RILL_NONBLOCKING;

}  // namespace rill::kernels
