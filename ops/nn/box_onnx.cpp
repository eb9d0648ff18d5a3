// Reads ONNX's average and Lp pools.

#include "ops/nn/onnx_pool.h"

namespace rill::ops {
namespace {

Result<Value> average_pool(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  return as_value(onnx_average_pool(ctx, x));
}

/// Read LpPool: the root of sums of powers.
Result<Value> lp_pool(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(std::vector<int64_t> kernel, ctx.integers("kernel_shape"));
  RILL_ASSIGN(const Tensor zero, Tensor::zeros(f.dtype(x), {}));
  RILL_ASSIGN(Window window, onnx_padded_window(ctx, std::move(kernel), zero, &x));
  if (ctx.has("ceil_mode")) {
    RILL_ASSIGN(const bool up, ctx.boolean("ceil_mode"));
    if (up && !window.same) onnx_round_up(f.fact(x), &window);
  }
  RILL_ASSIGN(const int64_t p, ctx.integer("p"));
  RILL_CHECK(p >= 1, "attribute \"p\" is ", p, ": expected 1 or more");
  const OutletId size = f.unary(UnaryKind::kAbs, x);
  const OutletId powers = f.binary(BinaryKind::kPow, size, f.number(static_cast<double>(p), size));
  const OutletId sums = onnx_window_sums(f, powers, window);
  const double root = 1.0 / static_cast<double>(p);
  return f.value(f.binary(BinaryKind::kPow, sums, f.number(root, sums)));
}

std::vector<int64_t> spatial_axes(int rank) {
  std::vector<int64_t> axes;
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Result<Value> global_average(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  return f.value(f.mean(x, spatial_axes(f.rank(x))));
}

Result<Value> global_lp(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t p, ctx.integer("p"));
  RILL_CHECK(p >= 1, "attribute \"p\" is ", p, ": expected 1 or more");
  const OutletId size = f.unary(UnaryKind::kAbs, x);
  const OutletId powers = f.binary(BinaryKind::kPow, size, f.number(static_cast<double>(p), size));
  const OutletId sums = f.reduce(ReduceKind::kSum, powers, spatial_axes(f.rank(x)));
  const double root = 1.0 / static_cast<double>(p);
  return f.value(f.binary(BinaryKind::kPow, sums, f.number(root, sums)));
}

#define RILL_ONNX_POOL(name, since, attributes, reader)                                \
  {"", since,                                                                          \
   "fragment " name                                                                    \
   "(X: tensor<?>, auto_pad: string = 'NOTSET', "                                      \
   "kernel_shape: integer[], pads: integer[] = [], strides: integer[] = []" attributes \
   ") "                                                                                \
   "-> (Y: tensor<?>);",                                                               \
   reader, Rounding::kOnce}

const OnnxOp kOps[] = {
    RILL_ONNX_POOL("AveragePool", 1, "", average_pool),
    RILL_ONNX_POOL("AveragePool", 7, ", count_include_pad: logical = false", average_pool),
    RILL_ONNX_POOL("AveragePool", 10,
                   ", count_include_pad: logical = false, ceil_mode: logical = false",
                   average_pool),
    RILL_ONNX_POOL("AveragePool", 19,
                   ", count_include_pad: logical = false, ceil_mode: logical = false, "
                   "dilations: integer[] = []",
                   average_pool),
    RILL_ONNX_POOL("LpPool", 2, ", p: integer = 2", lp_pool),
    RILL_ONNX_POOL("LpPool", 18,
                   ", p: integer = 2, ceil_mode: logical = false, dilations: integer[] = []",
                   lp_pool),
    {"", 1, "fragment GlobalAveragePool(X: tensor<?>) -> (Y: tensor<?>);", global_average,
     Rounding::kOnce},
    {"", 2, "fragment GlobalLpPool(X: tensor<?>, p: integer = 2) -> (Y: tensor<?>);", global_lp,
     Rounding::kOnce},
};

}  // namespace

extern const OnnxModule box_onnx;
const OnnxModule box_onnx = {"box", kOps};

}  // namespace rill::ops
