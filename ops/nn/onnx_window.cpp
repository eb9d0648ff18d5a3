#include "ops/nn/onnx_window.h"

#include <algorithm>

namespace rill::ops {
namespace {

Result<std::vector<int64_t>> list(OnnxCtx& ctx, std::string_view name, size_t axes) {
  std::vector<int64_t> out(axes, 1);
  if (!ctx.given(name)) return out;
  RILL_ASSIGN(out, ctx.integers(name));
  RILL_CHECK(out.size() == axes, "attribute \"", name, "\" has ", out.size(),
             " entries, expected ", axes, ", one per spatial axis");
  return out;
}

/// The padding that keeps ceil(input / stride) frames, with the larger half in front.
Status pad_lower(Window* window, const Fact& input) {
  for (int axis = 0; axis < window->axes(); ++axis) {
    const auto extent = input.dim(axis + 2).to_int();
    const bool unit = window->stride[static_cast<size_t>(axis)] == 1;
    if (!extent && !unit) {
      return fail(Code::kUnsupported, "auto_pad SAME_LOWER with a stride over ", input)
          .hint("Set the symbols, or the input's shape with -i");
    }
    // With a stride of 1 the padding does not depend on the extent.
    const auto [before, after] = window->pads(axis, extent.value_or(window->extent(axis)));
    window->padding.emplace_back(after, before);
  }
  window->same = false;
  return {};
}

/// An axis of a known extent holds one window at least. Of an open one, fewer frames give none.
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

Result<Window> onnx_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Fact& input,
                           WindowPads how) {
  Window window;
  window.kernel = std::move(kernel);
  const size_t axes = window.kernel.size();
  RILL_CHECK(input.rank() == static_cast<int>(axes) + 2, "input ", input, ": expected ", axes,
             " spatial axes behind batch and channels");
  RILL_ASSIGN(window.stride, list(ctx, "strides", axes));
  RILL_ASSIGN(window.dilation, list(ctx, "dilations", axes));
  std::string auto_pad;
  if (ctx.has("auto_pad")) {
    RILL_ASSIGN(auto_pad, ctx.text("auto_pad"));
  }
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (same && how == WindowPads::kAutomatic) {
    window.same = true;
    RILL_TRY(window.check(static_cast<int>(axes)));
    if (auto_pad == "SAME_LOWER") RILL_TRY(pad_lower(&window, input));
    return window;
  }
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    return fail(Code::kArg, "attribute \"auto_pad\" is ", auto_pad,
                ": expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  std::vector<int64_t> pads(2 * axes, 0);
  if (auto_pad != "VALID" && ctx.given("pads")) {
    RILL_ASSIGN(pads, ctx.integers("pads"));
    RILL_CHECK(pads.size() == 2 * axes, "attribute \"pads\" has ", pads.size(),
               " entries, expected ", 2 * axes, ": all begins, then all ends");
  }
  for (size_t i = 0; i < axes; ++i) window.padding.emplace_back(pads[i], pads[axes + i]);
  RILL_TRY(window.check(static_cast<int>(axes)));
  if (how == WindowPads::kAutomatic) RILL_TRY(check_fits(window, input));
  return window;
}

Status onnx_round_up(const Fact& input, Window* window) {
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
