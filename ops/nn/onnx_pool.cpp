#include "ops/nn/onnx_pool.h"

#include "ops/nn/pool_lower.h"

namespace rill::ops {
namespace {

/// Sum or average windows. `count_padding`: an average also counts the padding of the window.
OutletId pooled(Formula& f, OutletId x, const Window& window, bool normalize, bool count_padding) {
  return f.call("box", {{"input", Value(x)},
                        {"size", onnx_list(window.kernel)},
                        {"padding", onnx_padding(window)},
                        {"stride", onnx_list(window.stride)},
                        {"dilation", onnx_list(window.dilation)},
                        {"border", Value(std::string(count_padding ? "constant" : "ignore"))},
                        {"normalize", Value(normalize)}});
}

/// Move the padding of the window into x, as zeros that count like elements of the input.
OutletId padded(Formula& f, OutletId x, Window* window) {
  OnnxCtx::Argument arguments[] = {{"input", Value(x)}, {"padding", onnx_padding(*window)}};
  for (auto& [before, after] : window->padding) before = after = 0;
  return f.call("pad", {arguments[0], arguments[1]});
}

}  // namespace

OutletId onnx_window_sums(Formula& f, OutletId x, const Window& window) {
  return pooled(f, x, window, false, true);
}

Result<OutletId> onnx_average_pool(OnnxCtx& ctx, OutletId x, bool whole) {
  Formula f(ctx);
  RILL_ASSIGN(std::vector<int64_t> kernel, ctx.integers("kernel_shape"));
  bool count_padding = false;
  if (ctx.has("count_include_pad")) {
    RILL_ASSIGN(count_padding, ctx.boolean("count_include_pad"));
  }
  Window window;
  if (count_padding) {
    RILL_ASSIGN(const Tensor zero, Tensor::zeros(f.dtype(x), {}));
    RILL_ASSIGN(window, onnx_padded_window(ctx, std::move(kernel), zero, &x));
  } else {
    RILL_ASSIGN(window, onnx_window(ctx, std::move(kernel), f.fact(x)));
  }
  bool up = false;
  if (ctx.has("ceil_mode")) {
    RILL_ASSIGN(up, ctx.boolean("ceil_mode"));
  }
  if (up && !window.same) {
    Window longer = window;
    onnx_round_up(f.fact(x), &longer);
    if (count_padding && !whole) {
      constexpr int64_t kMostPadding = int64_t{1} << 24;  // the padding becomes part of the input
      const Pads written = window.padding;
      for (const auto& [before, after] : written) {
        RILL_CHECK(before <= kMostPadding && after <= kMostPadding, "attribute \"pads\" is ",
                   nnef_text(written), " with ceil_mode and count_include_pad: expected at most ",
                   kMostPadding);
      }
      x = padded(f, x, &window);
      for (size_t i = 0; i < written.size(); ++i) {
        window.padding[i].second = longer.padding[i].second - written[i].second;
      }
    } else {
      window = longer;
    }
    count_padding = count_padding && whole;
  }
  const OutletId out = pooled(f, x, window, true, count_padding);
  if (!f.ok()) return f.take_status();
  return out;
}

Result<OutletId> onnx_max_pool(OnnxCtx& ctx, OutletId x, Window* window) {
  RILL_ASSIGN(std::vector<int64_t> kernel, ctx.integers("kernel_shape"));
  if (ctx.wants(1)) {
    // Indices count in the unpadded input.
    RILL_ASSIGN(*window, onnx_window(ctx, std::move(kernel), ctx.fact(x)));
  } else {
    RILL_ASSIGN(const Tensor lowest, lowest_of(ctx.fact(x)));
    RILL_ASSIGN(*window, onnx_padded_window(ctx, std::move(kernel), lowest, &x));
  }
  if (ctx.has("ceil_mode")) {
    RILL_ASSIGN(const bool up, ctx.boolean("ceil_mode"));
    if (up && !window->same) onnx_round_up(ctx.fact(x), window);
  }
  return ctx.call1("max_pool", {{"input", Value(x)},
                                {"size", onnx_list(window->kernel)},
                                {"padding", onnx_padding(*window)},
                                {"stride", onnx_list(window->stride)},
                                {"dilation", onnx_list(window->dilation)}});
}

}  // namespace rill::ops
