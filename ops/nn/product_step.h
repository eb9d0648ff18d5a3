#pragma once

#include "ops/kernel_fields.h"
#include "ops/nn/product_parts.h"

namespace rill::ops {

/// A loop around a matmul, and the step of each operand per iteration, in elements.
struct ProductLoop {
  int64_t count = 1;
  int64_t a = 0;
  int64_t b = 0;  ///< in the packed weights, or in the operand that the step packs
  int64_t y = 0;
  int64_t residual = 0;

  void move(int64_t iterations, const ProductLoop& loop) {
    a += iterations * loop.a;
    b += iterations * loop.b;
    y += iterations * loop.y;
    residual += iterations * loop.residual;
  }
};

RILL_STEP_FIELDS(ProductLoop, count, a, b, y, residual)

constexpr int kProductLoops = 6;

/// A matmul inside loops, resolved at prepare.
struct ProductArgs {
  const kernels::MatmulF32* kernel = nullptr;
  kernels::MatmulF32Args args;
  ProductLoop loops[kProductLoops];
  int loop_count = 0;
  Ref a;
  Ref b;  ///< packed weights, or columns that the step packs
  Ref y;
  Ref bias;
  Ref residual;
  ProductSlices slices;
  bool pack = false;  ///< the step packs the columns
  bool has_bias = false;
  bool has_residual = false;
  int64_t k_stride = 0;
  int64_t n_stride = 0;
};

RILL_STEP_FIELDS(ProductArgs, kernel, args, loops, loop_count, a, b, y, bias, residual, slices,
                 pack, has_bias, has_residual, k_stride, n_stride)

/// A matmul with quantized packed weights: a separate kind, so that a program without such weights
/// links none of their kernels.
struct FewBitsProductArgs {
  ProductArgs product;
  const kernels::MatmulPacked* few_bits = nullptr;
};

RILL_STEP_FIELDS(FewBitsProductArgs, product, few_bits)

/// Run the slices of a share; slices are numbered across all iterations of the loops.
/// Scratch: a packed B if the step packs columns, or the scratch of the quantized kernel.
void run_product(const ProductArgs& product, const Frame& frame,
                 const Share& share) noexcept RILL_NONBLOCKING;
/// Run the matmul for several streams, unless they pack columns.
bool run_products(const ProductArgs& product,
                  std::span<const Frame> frames) noexcept RILL_NONBLOCKING;
void run_few_bits_product(const FewBitsProductArgs& args, const Frame& frame,
                          const Share& share) noexcept RILL_NONBLOCKING;

/// Report the reads and writes of a matmul.
void touch_product(const ProductArgs& product, StepTouches& touches);
void touch_few_bits_product(const FewBitsProductArgs& args, StepTouches& touches);

inline constexpr auto kProduct =
    step_kind<ProductArgs, run_product, touch_product, run_products>("product");
inline constexpr auto kFewBitsProduct =
    step_kind<FewBitsProductArgs, run_few_bits_product, touch_few_bits_product>(
        "few_bits_product");

}  // namespace rill::ops
