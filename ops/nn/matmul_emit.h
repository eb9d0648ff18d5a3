#pragma once

#include <string>

#include "emit_c/step_writer.h"
#include "kernels/matmul/matmul.h"

namespace rill::ops {

/// The operand that a product adds after its sums.
enum class EmittedResidual : uint8_t { kNone, kOther, kResult };

/// A matmul to write as C: its arguments without operand addresses, and its packed weights.
struct EmittedProduct {
  kernels::MatmulF32Args args;
  const kernels::MatmulF32* kernel = nullptr;
  const float* weights = nullptr;  ///< packed, of all columns
  const float* bias = nullptr;     ///< n values, or null where there is none
  EmittedResidual residual = EmittedResidual::kNone;
};

/// Addresses of the operands of a call, as C expressions.
struct EmittedPlaces {
  std::string a, residual, c;
};

/// Write the calls of a matmul. The layout of weights is [chunk of columns][k][columns], so that
/// compilers keep the sums of a chunk in vectors; each sum is one chain over ascending k, as in
/// every kernel.
void emit_product(const EmittedProduct& product, const EmittedPlaces& at, emit_c::StepWriter& to);

/// Return the columns that a chunk of `n` columns has with its padding.
int64_t emitted_columns(int64_t n);

}  // namespace rill::ops
