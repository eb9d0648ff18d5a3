// Reads ONNX's Trilu.

#include "core/graph/onnx.h"
#include "ops/array/trilu.h"

namespace rill::ops {
namespace {

Result<Value> triangle(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  auto op = draft_op<Trilu>();
  if (ctx.given("k")) {
    RILL_ASSIGN(op->k, ctx.dim("k"));
  } else {
    op->k = Dim(0);
  }
  RILL_ASSIGN(op->upper, ctx.boolean("upper"));
  return ctx.add_value(std::move(op), {x});
}

const OnnxOp kOps[] = {
    {"", 14,
     "fragment Trilu(input: tensor<?>, k: tensor<integer> = false, upper: logical = true) "
     "-> (output: tensor<?>);",
     triangle},
    {"com.microsoft", 1,
     "fragment Trilu(input: tensor<?>, k: tensor<integer> = false, upper: logical = true) "
     "-> (output: tensor<?>);",
     triangle},
};

}  // namespace

extern const OnnxModule trilu_onnx;
const OnnxModule trilu_onnx = {"trilu", kOps};

}  // namespace rill::ops
