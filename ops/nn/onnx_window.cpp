#include "ops/nn/onnx_window.h"

#include <algorithm>

#include "ops/array/open_pad.h"
#include "ops/array/slice.h"

namespace rill::ops {
namespace {

constexpr WindowNames kNames = {"attribute \"kernel_shape\"", "attribute \"strides\"",
                                "attribute \"dilations\"", "attribute \"pads\""};

Result<std::vector<int64_t>> list(OnnxCtx& ctx, std::string_view name, size_t axes) {
  std::vector<int64_t> out(axes, 1);
  if (!ctx.given(name)) return out;
  RILL_ASSIGN(out, ctx.integers(name));
  RILL_CHECK(out.size() == axes, "attribute \"", name, "\" has ",
             counted(out.size(), "entry", "entries"), ", expected ", axes,
             ", one per spatial axis");
  return out;
}

/// Set the padding that keeps ceil(input / stride) frames, with the larger half before. Return the
/// axes whose padding depends on a symbolic extent; they get none.
std::vector<int> pad_lower(const Fact& input, const SymbolScope& scope, Window* window) {
  std::vector<int> open;
  Pads padding;
  for (int axis = 0; axis < window->axes(); ++axis) {
    const Dim& extent = input.dim(axis + 2);
    const int64_t stride = window->stride[static_cast<size_t>(axis)];
    const auto number = extent.to_int();
    const Dim beyond = scope.simplify(extent - floor_div(extent, stride) * Dim(stride));
    const auto any = window->pads_of_any(axis, true);
    if (number || beyond.is_const()) {
      // All extents with the same remainder get the same padding.
      const auto [after, before] = window->pads(axis, number.value_or(stride + *beyond.to_int()));
      padding.emplace_back(before, after);
    } else {
      padding.push_back(any.value_or(std::pair<int64_t, int64_t>(0, 0)));
      if (!any) open.push_back(axis);
    }
  }
  window->same = false;
  window->padding = std::move(padding);
  return open;
}

/// Pad an axis of symbolic extent as SAME_LOWER does, so that a window without padding gives
/// ceil(extent / stride) frames.
Result<OutletId> surround_lower(OnnxCtx& ctx, OutletId x, int at, const Window& window,
                                const Tensor& border) {
  const int axis = at + 2;
  const int64_t kernel = window.extent(at);
  const int64_t stride = window.stride[static_cast<size_t>(at)];
  const Dim extent = ctx.fact(x).dim(axis);
  // The start of the last window, whose kernel may reach past the extent.
  const Dim last = Dim(stride) * floor_div(extent - Dim(1), stride);
  const Dim total = max(Dim(kernel) - (extent - last), Dim(0));
  const std::vector<OpenPads> pads = {{axis, ceil_div(total, 2), Dim(kernel - 1)}};
  RILL_ASSIGN(x, pad_open(ctx, x, pads, "constant", border));
  return ctx.add1(make_op<Slice>(axis, Dim(0), last + Dim(kernel)), {x}, "windows");
}

/// Fail if an axis of known extent is too short for one window. A symbolic extent that is too short
/// gives no frames.
Status check_fits(const Window& window, const Fact& input) {
  for (int axis = 0; axis < window.axes(); ++axis) {
    const auto extent = input.dim(axis + 2).to_int();
    if (!extent) continue;
    const auto [before, after] = window.pads(axis, *extent);
    if (*extent + before + after >= window.extent(axis)) continue;
    return fail(Code::kShape, "a window of ", window.extent(axis), " slides over ",
                *extent + before + after, " entries of input ", input, ", padding included");
  }
  return {};
}

}  // namespace

Status take_channels(OnnxCtx& ctx, OutletId input, const Dim& channels) {
  const Fact& fact = ctx.fact(input);
  if (fact.rank() < 2 || fact.dim(1).is_const()) return {};
  return ctx.take_as_equal(fact.dim(1), channels);
}

namespace {

/// Read a window. `open` gets the axes whose SAME_LOWER padding is left to the caller.
Result<Window> read_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Fact& input,
                           WindowPads how, std::vector<int>* open) {
  Window window;
  window.kernel = std::move(kernel);
  const size_t axes = window.kernel.size();
  RILL_CHECK(input.rank() == static_cast<int>(axes) + 2, "input ", input, ": expected ", axes,
             " spatial axes after batch and channels");
  RILL_ASSIGN(window.stride, list(ctx, "strides", axes));
  RILL_ASSIGN(window.dilation, list(ctx, "dilations", axes));
  std::string auto_pad;
  if (ctx.has("auto_pad")) {
    RILL_ASSIGN(auto_pad, ctx.text("auto_pad"));
  }
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (same && how == WindowPads::kAutomatic) {
    window.same = true;
    RILL_TRY(window.check(static_cast<int>(axes), kNames));
    if (auto_pad == "SAME_LOWER") *open = pad_lower(input, ctx.graph().scope, &window);
    return window;
  }
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    return fail(Code::kArg, "attribute \"auto_pad\" is ", auto_pad,
                ": expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  std::vector<int64_t> pads(2 * axes, 0);
  if (auto_pad != "VALID" && ctx.given("pads")) {
    RILL_ASSIGN(pads, ctx.integers("pads"));
    RILL_CHECK(pads.size() == 2 * axes, "attribute \"pads\" has ",
               counted(pads.size(), "entry", "entries"), ", expected ", 2 * axes,
               ": all begins, then all ends");
  }
  for (size_t i = 0; i < axes; ++i) window.padding.emplace_back(pads[i], pads[axes + i]);
  RILL_TRY(window.check(static_cast<int>(axes), kNames));
  if (how == WindowPads::kAutomatic) RILL_TRY(check_fits(window, input));
  return window;
}

}  // namespace

Result<Window> onnx_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Fact& input,
                           WindowPads how) {
  std::vector<int> open;
  RILL_ASSIGN(Window window, read_window(ctx, std::move(kernel), input, how, &open));
  if (open.empty()) return window;
  const int axis = open[0] + 2;
  return fail(Code::kUnsupported, "auto_pad SAME_LOWER with a stride of ",
              window.stride[static_cast<size_t>(open[0])], " over axis ", axis, " of ", input,
              ": the padding at the start depends on the extent ", input.dim(axis))
      .hint("Set its symbols, as in --set S=16000, or give the input's shape with -i");
}

Result<Window> onnx_padded_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Tensor& border,
                                  OutletId* x) {
  std::vector<int> open;
  RILL_ASSIGN(Window window, read_window(ctx, std::move(kernel), ctx.fact(*x),
                                         WindowPads::kAutomatic, &open));
  for (const int axis : open) {
    RILL_ASSIGN(*x, surround_lower(ctx, *x, axis, window, border));
  }
  return window;
}

void onnx_round_up(const Fact& input, Window* window) {
  for (int axis = 0; axis < window->axes(); ++axis) {
    const auto at = static_cast<size_t>(axis);
    const auto known = input.dim(axis + 2).to_int();
    auto& [before, after] = window->padding[at];
    const int64_t stride = window->stride[at];
    if (!known) {
      // The last window begins in the last stride that has input or leading padding. With this
      // padding it is whole for every extent.
      const int64_t whole = window->extent(axis) - 1;
      after = std::max(after, std::min(after + stride - 1, whole));
      continue;
    }
    const int64_t extent = *known;
    const int64_t last_start = extent + before + after - window->extent(axis);
    if (last_start < 0) continue;
    int64_t last = (last_start + stride - 1) / stride;
    if (last * stride >= extent + before) --last;
    after += std::max<int64_t>(0, last * stride - last_start);
  }
}

Value onnx_list(const std::vector<int64_t>& spatial) {
  std::vector<Value> out(2, Value(Dim(1)));
  for (const int64_t each : spatial) out.emplace_back(Dim(each));
  return Value(std::move(out));
}

Value onnx_padding(const Window& window) {
  std::vector<Value> out;
  if (window.same) return Value(std::move(out));
  const auto pair = [&](int64_t before, int64_t after) {
    out.emplace_back(std::vector<Value>{Value(Dim(before)), Value(Dim(after))});
  };
  pair(0, 0);
  pair(0, 0);
  for (const auto& [before, after] : window.padding) pair(before, after);
  return Value(std::move(out));
}

}  // namespace rill::ops
