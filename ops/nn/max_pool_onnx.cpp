// How ONNX's pools that take the largest are read.

#include "core/graph/onnx.h"
#include "ops/math/reduce.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {
namespace {

Result<Value> max_pool(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(std::vector<int64_t> kernel, ctx.integers("kernel_shape"));
  RILL_ASSIGN(Window window, onnx_window(ctx, std::move(kernel), ctx.fact(x)));
  if (ctx.wants(1)) {
    return fail(Code::kUnsupported, "output \"Indices\" is not supported")
        .hint("Drop it from the graph, if nobody reads it");
  }
  if (ctx.has("ceil_mode")) {
    RILL_ASSIGN(const bool up, ctx.boolean("ceil_mode"));
    if (up && !window.same) RILL_TRY(onnx_round_up(ctx.fact(x), &window));
  }
  RILL_ASSIGN(const OutletId out,
              ctx.call1("max_pool", {{"input", Value(x)},
                                     {"size", onnx_list(window.kernel)},
                                     {"padding", onnx_padding(window)},
                                     {"stride", onnx_list(window.stride)},
                                     {"dilation", onnx_list(window.dilation)}}));
  return Value(out);
}

Result<Value> global_max_pool(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  std::vector<int64_t> axes;
  for (int axis = 2; axis < ctx.fact(x).rank(); ++axis) axes.push_back(axis);
  RILL_ASSIGN(const OutletId out,
              ctx.add1(std::make_shared<Reduce>(ReduceKind::kMax, std::move(axes)), {x}));
  return Value(out);
}

const OnnxOp kOps[] = {
    {"", 1,
     "fragment MaxPool(X: tensor<?>, auto_pad: string = 'NOTSET', kernel_shape: integer[], "
     "pads: integer[] = [], strides: integer[] = []) -> (Y: tensor<?>);",
     max_pool},
    {"", 8,
     "fragment MaxPool(X: tensor<?>, auto_pad: string = 'NOTSET', kernel_shape: integer[], "
     "pads: integer[] = [], storage_order: integer = 0, strides: integer[] = []) "
     "-> (Y: tensor<?>, Indices: tensor<integer>);",
     max_pool},
    {"", 10,
     "fragment MaxPool(X: tensor<?>, auto_pad: string = 'NOTSET', ceil_mode: logical = false, "
     "dilations: integer[] = [], kernel_shape: integer[], pads: integer[] = [], "
     "storage_order: integer = 0, strides: integer[] = []) "
     "-> (Y: tensor<?>, Indices: tensor<integer>);",
     max_pool},
    {"", 1, "fragment GlobalMaxPool(X: tensor<?>) -> (Y: tensor<?>);", global_max_pool},
};

}  // namespace

extern const OnnxRoom max_pool_onnx;
const OnnxRoom max_pool_onnx = {"max_pool", kOps};

}  // namespace rill::ops
