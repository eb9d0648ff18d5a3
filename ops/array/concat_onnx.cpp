// Reads ONNX's Concat.

#include "core/graph/onnx.h"
#include "ops/array/axis_argument.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/numpy.h"

namespace rill::ops {
namespace {

Result<Value> concat(OnnxCtx& ctx) {
  RILL_ASSIGN(std::vector<OutletId> parts, ctx.wires("inputs"));
  RILL_CHECK(!parts.empty(), "expected one input or more");
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, ctx.fact(parts[0]).rank()));
  for (const OutletId part : parts) {
    for (int i = 0; i < ctx.fact(part).rank() && i < ctx.fact(parts[0]).rank(); ++i) {
      if (i == axis) continue;
      RILL_TRY(ctx.take_as_equal(ctx.fact(parts[0]).dim(i), ctx.fact(part).dim(i)));
    }
  }
  RILL_ASSIGN(parts, as_dims_if_any(ctx, std::move(parts)));
  return ctx.add_value(make_op<Concat>(axis), parts);
}

const OnnxOp kOps[] = {
    {"", 1,
     "fragment Concat(inputs: tensor<?>[], axis: integer = 1) -> (concat_result: tensor<?>);",
     concat},
    {"", 4, "fragment Concat(inputs: tensor<?>[], axis: integer) -> (concat_result: tensor<?>);",
     concat},
};

}  // namespace

extern const OnnxModule concat_onnx;
const OnnxModule concat_onnx = {"concat", kOps};

}  // namespace rill::ops
