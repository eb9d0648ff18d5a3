// Reads ONNX's Pow and Clip.

#include "core/graph/onnx.h"
#include "ops/math/numpy.h"

namespace rill::ops {
namespace {

/// Read Pow. The exponent may have another type than the base; the result has the base's type.
Result<Value> power(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(OutletId y, ctx.wire("Y"));
  const DType base = ctx.fact(x).dtype;
  if (is_int(base) && is_float(ctx.fact(y).dtype)) {
    RILL_ASSIGN(const OutletId wide, cast_to(ctx, x, ctx.fact(y).dtype));
    RILL_ASSIGN(const OutletId raised, numpy_binary(ctx, BinaryKind::kPow, wide, y, "power"));
    return as_value(cast_to(ctx, raised, base));
  }
  RILL_ASSIGN(y, cast_to(ctx, y, base));
  return as_value(numpy_binary(ctx, BinaryKind::kPow, x, y));
}

/// Apply a limit that is an input or an attribute, converted to the type of `x`.
Result<OutletId> limited(OnnxCtx& ctx, BinaryKind kind, std::string_view name, OutletId x) {
  if (!ctx.given(name)) return x;
  RILL_ASSIGN(const OutletId limit, ctx.wire(name));
  RILL_ASSIGN(const OutletId typed, cast_to(ctx, limit, ctx.fact(x).dtype));
  return numpy_binary(ctx, kind, x, typed, name);
}

Result<Value> clip(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("input"));
  RILL_ASSIGN(x, limited(ctx, BinaryKind::kMax, "min", x));
  RILL_ASSIGN(x, limited(ctx, BinaryKind::kMin, "max", x));
  return as_value(x);
}

const OnnxOp kOps[] = {
    {"", 7, "fragment Pow(X: tensor<?>, Y: tensor<?>) -> (Z: tensor<?>);", power},
    {"", 6,
     "fragment Clip(input: tensor<?>, max: scalar = 0.0, min: scalar = 0.0) "
     "-> (output: tensor<?>);",
     clip},
    {"", 11,
     "fragment Clip(input: tensor<?>, min: tensor<?> = false, max: tensor<?> = false) "
     "-> (output: tensor<?>);",
     clip},
};

}  // namespace

extern const OnnxModule pow_const_onnx;
const OnnxModule pow_const_onnx = {"pow_const", kOps};

}  // namespace rill::ops
