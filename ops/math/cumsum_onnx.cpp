// Reads ONNX's CumSum.

#include "core/graph/onnx.h"

namespace rill::ops {
namespace {

Result<Value> cumulative_sum(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("x"));
  RILL_ASSIGN(const int64_t axis, ctx.integer("axis"));
  RILL_ASSIGN(const bool exclusive, ctx.boolean("exclusive"));
  RILL_ASSIGN(const bool reverse, ctx.boolean("reverse"));
  return as_value(ctx.call1("tract_core_cumsum", {{"input", Value(x)},
                                                  {"axis", Value(Dim(axis))},
                                                  {"exclusive", Value(exclusive)},
                                                  {"reverse", Value(reverse)}}));
}

const OnnxOp kOps[] = {
    {"", 11,
     "fragment CumSum(x: tensor<?>, axis: tensor<integer>, exclusive: logical = false, "
     "reverse: logical = false) -> (y: tensor<?>);",
     cumulative_sum},
};

}  // namespace

extern const OnnxModule cumsum_onnx;
const OnnxModule cumsum_onnx = {"cumsum", kOps};

}  // namespace rill::ops
