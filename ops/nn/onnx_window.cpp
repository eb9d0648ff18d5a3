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

}  // namespace

Result<Window> onnx_window(OnnxCtx& ctx, std::vector<int64_t> kernel, const Fact& input) {
  Window window;
  window.kernel = std::move(kernel);
  const size_t axes = window.kernel.size();
  RILL_CHECK(input.rank() == static_cast<int>(axes) + 2, "input ", input, ": expected ", axes,
             " spatial axes behind batch and channels");
  RILL_ASSIGN(window.stride, list(ctx, "strides", axes));
  RILL_ASSIGN(window.dilation, list(ctx, "dilations", axes));
  RILL_ASSIGN(const std::string auto_pad, ctx.text("auto_pad"));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    window.same = true;
    RILL_TRY(window.check(static_cast<int>(axes)));
    if (auto_pad == "SAME_LOWER") RILL_TRY(pad_lower(&window, input));
    return window;
  }
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
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
  return window;
}

}  // namespace rill::ops
