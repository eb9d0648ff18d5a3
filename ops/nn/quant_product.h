#pragma once

#include <string_view>

#include "ops/math/wiring.h"

namespace rill::ops {

/// The scales and zero points of a call's three tensors.
struct QuantScales {
  OutletId zero[3];
  OutletId scale[3];
};

/// Subtract a zero point from integers, in 32 bits.
OutletId less_zero_point(Wiring& w, OutletId x, OutletId zero);

/// Scale sums to the output in f64, which represents every i32. An 8-bit output is rounded in f32,
/// since tract does not round f64.
OutletId rescaled_sums(Wiring& w, OutletId sums, const QuantScales& scales, DType type);

/// Cast integers to the requested quantised type, whose parameters must be constants.
Result<Value> as_quantised(Wiring& w, OutletId out, const QuantScales& scales, DType type);

/// Add a sum of products of integers minus their zero points, with a bias, in the scale of `type`.
/// Errors: kArg, kShape, kUnsupported where the letters do not fit the wires.
Result<Value> quantised_einsum(Wiring& w, std::string_view expr, OutletId a, OutletId b,
                               OutletId bias, QuantScales scales, DType type);

/// Add a quantised matmul while loading; its output has the type of graph.quant, or contains the
/// sums as QI32.
Result<Value> load_quant_product(LoadCtx& ctx, std::string_view expr, OutletId a, OutletId b);

}  // namespace rill::ops
