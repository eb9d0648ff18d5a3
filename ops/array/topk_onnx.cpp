// Reads ONNX's TopK.

#include "core/graph/onnx.h"

namespace rill::ops {
namespace {

/// Read TopK. The result is always sorted; `sorted` = 0 allows any order.
Result<Value> top(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const int64_t axis, ctx.integer("axis"));
  RILL_ASSIGN(const Dim count, ctx.dim(ctx.has("k") ? "k" : "K"));
  bool largest = true;
  if (ctx.has("largest")) {
    RILL_ASSIGN(largest, ctx.boolean("largest"));
  }
  const OnnxCtx::Argument arguments[] = {{"input", Value(x)},
                                         {"k", Value(count)},
                                         {"axis", Value(Dim(axis))},
                                         {"largest", Value(largest)}};
  return ctx.call("tract_core_topk", arguments);
}

const OnnxOp kOps[] = {
    {"", 1,
     "fragment TopK(X: tensor<?>, axis: integer = -1, k: integer) "
     "-> (Values: tensor<?>, Indices: tensor<integer>);",
     top},
    {"", 10,
     "fragment TopK(X: tensor<?>, K: tensor<integer>, axis: integer = -1) "
     "-> (Values: tensor<?>, Indices: tensor<integer>);",
     top},
    {"", 11,
     "fragment TopK(X: tensor<?>, K: tensor<integer>, axis: integer = -1, "
     "largest: logical = true, sorted: logical = true) "
     "-> (Values: tensor<?>, Indices: tensor<integer>);",
     top},
};

}  // namespace

extern const OnnxModule topk_onnx;
const OnnxModule topk_onnx = {"topk", kOps};

}  // namespace rill::ops
