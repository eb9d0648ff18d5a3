// Reads ONNX's BitCast.

#include "core/graph/onnx.h"

namespace rill::ops {
namespace {

Result<Value> bit_cast(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const int64_t number, ctx.integer("to"));
  const auto type = onnx_type(number);
  if (!type) {
    return fail(Code::kUnsupported, "a cast of bits from ", dtype_name(ctx.fact(x).dtype), " to ",
                onnx_type_name(number));
  }
  if (ctx.fact(x).dtype == DType::kDim) {
    // In the file, sizes are 64-bit integers.
    RILL_ASSIGN(x, ctx.call1("tract_core_cast",
                             {{"input", Value(x)}, {"to", Value(std::string("i64"))}}));
  }
  return as_value(
      ctx.call1("rill_onnx_bit_cast",
                {{"input", Value(x)}, {"to", Value(std::string(dtype_lower_name(*type)))}}));
}

const OnnxOp kOps[] = {
    {"", 26, "fragment BitCast(input: tensor<?>, to: integer) -> (output: tensor<?>);", bit_cast},
};

}  // namespace

extern const OnnxModule bit_cast_onnx;
const OnnxModule bit_cast_onnx = {"bit_cast", kOps};

}  // namespace rill::ops
