// How ONNX's pools that average are read.

#include "ops/math/formula.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {
namespace {

/// Sums of windows, or their averages. What rounding up adds behind the padding is never counted.
OutletId pooled(Formula& f, OutletId x, const Window& window, bool normalize, bool count_padding) {
  return f.call("box", {{"input", Value(x)},
                        {"size", onnx_list(window.kernel)},
                        {"padding", onnx_padding(window)},
                        {"stride", onnx_list(window.stride)},
                        {"dilation", onnx_list(window.dilation)},
                        {"border", Value(std::string(count_padding ? "constant" : "ignore"))},
                        {"normalize", Value(normalize)}});
}

/// Put zeros around the spatial axes that count as the input does.
OutletId padded(Formula& f, OutletId x, Window* window) {
  OnnxCtx::Argument arguments[] = {{"input", Value(x)}, {"padding", onnx_padding(*window)}};
  for (auto& [before, after] : window->padding) before = after = 0;
  return f.call("pad", {arguments[0], arguments[1]});
}

Result<Value> average_pool(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(std::vector<int64_t> kernel, ctx.integers("kernel_shape"));
  RILL_ASSIGN(Window window, onnx_window(ctx, std::move(kernel), f.fact(x)));
  bool count_padding = false;
  if (ctx.has("count_include_pad")) {
    RILL_ASSIGN(count_padding, ctx.boolean("count_include_pad"));
  }
  bool up = false;
  if (ctx.has("ceil_mode")) {
    RILL_ASSIGN(up, ctx.boolean("ceil_mode"));
  }
  if (up && !window.same) {
    Window whole = window;
    RILL_TRY(onnx_round_up(f.fact(x), &whole));
    if (count_padding) {
      const Pads written = window.padding;
      x = padded(f, x, &window);
      for (size_t i = 0; i < written.size(); ++i) {
        window.padding[i].second = whole.padding[i].second - written[i].second;
      }
    } else {
      window = whole;
    }
    count_padding = false;
  }
  return f.value(pooled(f, x, window, true, count_padding));
}

/// The root of sums of powers.
Result<Value> lp_pool(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(std::vector<int64_t> kernel, ctx.integers("kernel_shape"));
  RILL_ASSIGN(Window window, onnx_window(ctx, std::move(kernel), f.fact(x)));
  if (ctx.has("ceil_mode")) {
    RILL_ASSIGN(const bool up, ctx.boolean("ceil_mode"));
    if (up && !window.same) RILL_TRY(onnx_round_up(f.fact(x), &window));
  }
  RILL_ASSIGN(const int64_t p, ctx.integer("p"));
  RILL_CHECK(p >= 1, "attribute \"p\" is ", p, ": expected 1 or more");
  const OutletId size = f.unary(UnaryKind::kAbs, x);
  const OutletId powers = f.binary(BinaryKind::kPow, size, f.number(static_cast<double>(p), size));
  const OutletId sums = pooled(f, powers, window, false, true);
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

#define RILL_ONNX_POOL(name, since, attributes, reader)                                           \
  {                                                                                               \
    "", since, "fragment " name "(X: tensor<?>, auto_pad: string = 'NOTSET', "                    \
        "kernel_shape: integer[], pads: integer[] = [], strides: integer[] = []" attributes ") "  \
        "-> (Y: tensor<?>);",                                                                     \
        reader                                                                                    \
  }

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
    {"", 1, "fragment GlobalAveragePool(X: tensor<?>) -> (Y: tensor<?>);", global_average},
    {"", 2, "fragment GlobalLpPool(X: tensor<?>, p: integer = 2) -> (Y: tensor<?>);", global_lp},
};

}  // namespace

extern const OnnxRoom box_onnx;
const OnnxRoom box_onnx = {"box", kOps};

}  // namespace rill::ops
