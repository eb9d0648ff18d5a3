#pragma once

#include <optional>
#include <vector>

#include "core/exec/lowering.h"
#include "kernels/int8/int8_args.h"

namespace rill::ops {

/// An int8 matmul to lower: rows of A, which may be windows of existing memory, by constant
/// weights, in groups that are adjacent in A and in the output.
struct ByteProduct {
  Ref x;
  DType x_type = DType::kU8;
  int32_t x_zero = 0;
  std::optional<Ref> zero;  ///< one I32, the zero point of x if a step computes it
  int64_t rows = 0, row_stride = 0;
  int64_t run = 0, run_stride = 0;  ///< as in `MatmulInt8Args`
  int64_t segments = 1, segment_len = 0, segment_stride = 0;  ///< of a row of one group
  int64_t groups = 1, group_stride = 0;
  int64_t columns = 0;                 ///< of one group
  std::vector<int8_t> weights;         ///< [groups][k][columns]
  int32_t w_zero = 0;
  std::vector<int32_t> bias;           ///< [groups * columns], or none
  std::optional<kernels::Rounding> rounding;  ///< none: the sums themselves

  int64_t k() const { return segments * segment_len; }
};

/// Emit the steps that compute output 0: the product's rows in the order of `order`, whose last
/// axis is that of the columns.
/// Accuracy: exact sums modulo 2^32, and the operations of `Rounding`, the same on every tier.
void lower_byte_product(const ByteProduct& product, Lowering& lowering, std::span<const int> order);

}  // namespace rill::ops
