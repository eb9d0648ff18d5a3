#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/nonblocking.h"

// kInt8 panels without their blocks of zeros. Layout: the scales and starts of all columns, as in
// other kInt8 panels; for every strip of columns, and once more at the end, the u32 position of its
// first block; a u16 for each block, which says its four values of k; the blocks. The memory of the
// panel is unchanged, and its end is unused. The scale of the first column is negative.

namespace rill::kernels {

struct MatmulPacked;

/// The values of k in a block.
constexpr int64_t kSparseTerms = 4;

/// Return the columns of a block in a tier whose vectors have `lanes` columns.
constexpr int64_t sparse_strip(int64_t lanes) { return lanes < 8 ? lanes : 8; }

/// Positions in a panel, in bytes from its begin. No capacity: the panel cannot be sparse.
struct SparseLayout {
  int64_t groups;    ///< of four values of k
  int64_t capacity;  ///< the most blocks that fit
  int64_t begins, indices, blocks;

  // Inlined always, so that tiers share no copy of it.
  __attribute__((always_inline)) constexpr SparseLayout(int64_t k, int64_t columns, int64_t strip)
      : groups((k + kSparseTerms - 1) / kSparseTerms),
        capacity(0),
        begins(8 * columns),
        indices(begins + 4 * (columns / strip + 1)),
        blocks(0) {
    constexpr int64_t kAlignment = 64;
    const int64_t room = begins + columns * kSparseTerms * groups - indices - kAlignment;
    capacity = room > 0 ? room / (2 + kSparseTerms * strip) : 0;
    blocks = (indices + 2 * capacity + kAlignment - 1) / kAlignment * kAlignment;
  }
};

/// Columns of finite floats: (p, j) is from[p * k_stride + j * n_stride], j < count.
struct FloatColumns {
  const float* from;
  int64_t k_stride, n_stride, count;
};

/// The blocks of a matrix.
struct SparseBlocks {
  int64_t kept = 0;  ///< blocks that are not all zero once rounded
  int64_t all = 0;
  bool fit = true;  ///< whether every panel holds its blocks

  /// Return whether a sparse product is faster than a dense one, in which a block takes about half
  /// the time.
  bool pay() const { return fit && kept * 2 <= all; }
};

/// Count the blocks of a panel of `columns` columns. Real-time: yes.
void count_sparse_panel(const MatmulPacked& kernel, int64_t k, int64_t columns,
                        const FloatColumns& values, SparseBlocks* blocks) noexcept RILL_NONBLOCKING;

/// Round and pack a panel without its blocks of zeros. Its memory is zeroed.
/// Accuracy: as `int8_column`. Real-time: yes.
void pack_sparse_panel(const MatmulPacked& kernel, int64_t k, int64_t columns,
                       const FloatColumns& values, std::byte* panel) noexcept RILL_NONBLOCKING;

}  // namespace rill::kernels
