#pragma once

#include "kernels/int8/int8.h"
#include "ops/kernel_fields.h"

namespace rill::ops {

struct ByteProductArgs {
  const kernels::MatmulInt8* kernel = nullptr;
  kernels::QuantiseFn quantise = nullptr;  ///< null: the sums are the output
  kernels::MatmulInt8Args product;
  kernels::QuantiseArgs rounding;
  int64_t groups = 1, x_step = 0, b_step = 0;
  Ref x, b, start, sums, scratch, y;
  /// If the zero point of A is computed: its factor in `start`, and the location of the sum.
  bool moves = false;
  Ref zero, per_zero, moved;
};

RILL_STEP_FIELDS(ByteProductArgs, kernel, quantise, product, rounding, groups, x_step, b_step, x, b,
                 start, sums, scratch, y, moves, zero, per_zero, moved)

void run_byte_product(const ByteProductArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_byte_product(const ByteProductArgs& args, StepTouches& touches);

inline constexpr auto kByteProduct =
    step_kind<ByteProductArgs, run_byte_product, touch_byte_product>("byte_product");

}  // namespace rill::ops
