// How ONNX's pools that take the largest are read.

#include "core/graph/onnx.h"
#include "ops/math/reduce.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {
namespace {

template <class T>
Value values(const std::vector<T>& list) {
  std::vector<Value> out;
  for (const T& each : list) out.emplace_back(Dim(each));
  return Value(std::move(out));
}

/// With two entries in front for batch and channels, as NNEF has it.
std::vector<int64_t> with_batch(std::vector<int64_t> list) {
  list.insert(list.begin(), 2, 1);
  return list;
}

Value padding_of(const Window& window) {
  std::vector<Value> out;
  if (window.same) return Value(std::move(out));
  const auto pair = [&](int64_t before, int64_t after) {
    out.push_back(values(std::vector<int64_t>{before, after}));
  };
  pair(0, 0);
  pair(0, 0);
  for (const auto& [before, after] : window.padding) pair(before, after);
  return Value(std::move(out));
}

/// Pad the end so that the last window that begins inside, or in the padding in front, is whole.
Status round_up(const Fact& input, Window* window) {
  for (int axis = 0; axis < window->axes(); ++axis) {
    const auto at = static_cast<size_t>(axis);
    RILL_ASSIGN(const int64_t extent, input.dim(axis + 2).as_int());
    auto& [before, after] = window->padding[at];
    const int64_t stride = window->stride[at];
    const int64_t room = extent + before + after - window->extent(axis);
    if (room < 0) continue;
    int64_t last = (room + stride - 1) / stride;
    if (last * stride >= extent + before) --last;
    after += std::max<int64_t>(0, last * stride - room);
  }
  return {};
}

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
    if (up && !window.same) RILL_TRY(round_up(ctx.fact(x), &window));
  }
  RILL_ASSIGN(const OutletId out,
              ctx.call1("max_pool", {{"input", Value(x)},
                                     {"size", values(with_batch(window.kernel))},
                                     {"padding", padding_of(window)},
                                     {"stride", values(with_batch(window.stride))},
                                     {"dilation", values(with_batch(window.dilation))}}));
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
