// Reads ONNX's Expand and Tile.

#include "core/graph/onnx.h"
#include "ops/array/broadcast.h"
#include "ops/array/numpy.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

Result<Value> expand(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(std::vector<Dim> shape, computed_dims(ctx, "shape"));
  // Both the input and the shape may have extents of 1.
  const std::vector<Dim> own = ctx.fact(x).shape;
  while (shape.size() < own.size()) shape.insert(shape.begin(), Dim(1));
  const size_t front = shape.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i) {
    shape[front + i] = ctx.graph().scope.simplify(broadcast(own[i], shape[front + i]));
  }
  return ctx.add_value(make_op<Broadcast>(std::move(shape)), {x});
}

Result<Value> tile(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(std::vector<Dim> repeats, computed_dims(ctx, "repeats"));
  return ctx.add_value(make_op<Tile>(std::move(repeats)), {x});
}

const OnnxOp kOps[] = {
    {"", 8, "fragment Expand(input: tensor<?>, shape: tensor<integer>) -> (output: tensor<?>);",
     expand},
    {"", 6, "fragment Tile(input: tensor<?>, repeats: tensor<integer>) -> (output: tensor<?>);",
     tile},
};

}  // namespace

extern const OnnxModule broadcast_onnx;
const OnnxModule broadcast_onnx = {"broadcast", kOps};

}  // namespace rill::ops
