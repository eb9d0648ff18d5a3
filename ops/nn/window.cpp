#include "ops/nn/window.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/search.h"
#include "core/tensor/strided_copy.h"
#include "ops/nn/fill_frames_step.h"

namespace rill::ops {

int64_t Window::extent(int axis) const {
  const auto a = static_cast<size_t>(axis);
  return (kernel[a] - 1) * dilation[a] + 1;
}

namespace {

constexpr int64_t kMostEntry = (int64_t{1} << 31) - 1;

Status check_entry(const char* name, const std::vector<int64_t>& entries, size_t axis) {
  RILL_CHECK(entries[axis] >= 1 && entries[axis] <= kMostEntry, name, " is ", entries,
             ": expected 1 to ", kMostEntry, " per spatial axis");
  return {};
}

}  // namespace

Status Window::check(int spatial_axes, const WindowNames& names) const {
  const auto n = static_cast<size_t>(spatial_axes);
  if (kernel.size() != n || stride.size() != n || dilation.size() != n ||
      (!same && padding.size() != n)) {
    return fail(Code::kShape, "window over ", kernel.size(), " axes, stride ", stride,
                ", dilation ", dilation, ": expected ", n, " spatial axes");
  }
  constexpr int64_t kMostTaps = int64_t{1} << 40;
  int64_t taps = 1;
  for (size_t i = 0; i < n; ++i) {
    RILL_TRY(check_entry(names.kernel, kernel, i));
    RILL_TRY(check_entry(names.stride, stride, i));
    RILL_TRY(check_entry(names.dilation, dilation, i));
    RILL_CHECK(kernel[i] <= kMostTaps / taps, names.kernel, " is ", kernel,
               ": expected at most ", kMostTaps, " taps in all");
    taps *= kernel[i];
    if (same) continue;
    const auto [before, after] = padding[i];
    RILL_CHECK(before >= 0 && after >= 0 && before <= kMostEntry && after <= kMostEntry,
               names.padding, " is ", nnef_text(padding), ": expected 0 to ", kMostEntry,
               " at each end");
  }
  return {};
}

Dim Window::output(int axis, const Dim& input) const {
  const auto a = static_cast<size_t>(axis);
  if (same) return ceil_div(input, stride[a]);
  const Dim reach = input + Dim(padding[a].first + padding[a].second - extent(axis));
  const Dim out = floor_div(reach, stride[a]) + Dim(1);
  return out.is_const() && *out.to_int() < 0 ? Dim(0) : out;
}

std::pair<int64_t, int64_t> Window::pads(int axis, int64_t input) const {
  const auto a = static_cast<size_t>(axis);
  if (!same) return padding[a];
  const int64_t out = (input + stride[a] - 1) / stride[a];
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride[a] + extent(axis) - input);
  return {total / 2, total - total / 2};
}

std::optional<std::pair<int64_t, int64_t>> Window::pads_of_any(int axis, bool larger_before) const {
  // The last stride of the input has 1 to `stride` frames; the fewer, the more padding.
  const int64_t most = extent(axis) - 1;
  const int64_t least = std::max<int64_t>(0, extent(axis) - stride[static_cast<size_t>(axis)]);
  const auto front = [&](int64_t total) { return (total + (larger_before ? 1 : 0)) / 2; };
  if (front(most) != front(least)) return std::nullopt;
  // The window that begins in the last stride is whole, and no window begins after it.
  return std::pair(front(most), most - front(most));
}

Dim Window::taps() const {
  Dim out = 1;
  for (const int64_t extent : kernel) out *= Dim(extent);
  return out;
}

bool Window::padded() const {
  return same || any_of(padding, [](const auto& p) { return p.first != 0 || p.second != 0; });
}

void Window::fields(FieldVisitor& visitor) {
  ranged_field(visitor, "kernel", 1, INT32_MAX, kernel);
  ranged_field(visitor, "stride", 1, INT32_MAX, stride);
  ranged_field(visitor, "dilation", 1, INT32_MAX, dilation);
  visitor.field("padding", padding);
  visitor.field("same", same);
}

namespace {

Result<std::vector<int64_t>> spatial(std::vector<int64_t> values, int skip, size_t axes,
                                     const char* what) {
  if (values.empty()) return std::vector<int64_t>(axes, 1);
  if (static_cast<size_t>(skip) <= values.size() &&
      values.size() == axes + static_cast<size_t>(skip)) {
    for (int i = 0; i < skip; ++i) {
      if (values[static_cast<size_t>(i)] != 1) {
        return fail(Code::kUnsupported, what, " ", values, ": expected 1 on batch and channel");
      }
    }
    values.erase(values.begin(), values.begin() + skip);
    return values;
  }
  return fail(Code::kShape, what, " ", values, ": expected ", axes + static_cast<size_t>(skip),
              " entries");
}

}  // namespace

Result<Window> load_window(LoadCtx& ctx, std::vector<int64_t> kernel, int skip) {
  Window window;
  window.kernel = std::move(kernel);
  const size_t axes = window.kernel.size();
  RILL_ASSIGN(std::vector<int64_t> strides, ctx.integers("stride"));
  RILL_ASSIGN(window.stride, spatial(std::move(strides), skip, axes, "stride"));
  RILL_ASSIGN(std::vector<int64_t> dilations, ctx.integers("dilation"));
  RILL_ASSIGN(window.dilation, spatial(std::move(dilations), skip, axes, "dilation"));
  RILL_ASSIGN(window.padding, ctx.pads("padding"));
  window.same = window.padding.empty();
  // If there is no padding, the exporter writes entries for batch and channel, too.
  if (window.padding.size() > axes + static_cast<size_t>(skip) && !window.padded()) {
    window.padding.resize(axes + static_cast<size_t>(skip));
  }
  if (!window.same) {
    if (window.padding.size() != axes + static_cast<size_t>(skip)) {
      return fail(Code::kShape, "padding ", nnef_text(window.padding), ": expected ",
                  axes + static_cast<size_t>(skip), " entries");
    }
    for (int i = 0; i < skip; ++i) {
      const auto [before, after] = window.padding[static_cast<size_t>(i)];
      if (before != 0 || after != 0) {
        return fail(Code::kUnsupported, "padding on batch or channel");
      }
    }
    window.padding.erase(window.padding.begin(), window.padding.begin() + skip);
  }
  RILL_TRY(window.check(static_cast<int>(axes),
                        {skip > 0 ? "argument \"size\"" : "the window of the filter",
                         "argument \"stride\"", "argument \"dilation\"",
                         "argument \"padding\""}));
  return window;
}

Result<Window> load_pool_window(LoadCtx& ctx) {
  RILL_ASSIGN(const std::vector<int64_t> size, ctx.integers("size"));
  RILL_CHECK(size.size() >= 3 && size[0] == 1 && size[1] == 1, "size ", size,
             ": expected 1 on batch and channel");
  return load_window(ctx, {size.begin() + 2, size.end()}, 2);
}

Status expect_constant_padding(LoadCtx& ctx) {
  RILL_ASSIGN(const std::string border, ctx.text("border"));
  if (border == "constant" || border == "ignore") return {};
  return fail(Code::kUnsupported, "border \"", border, "\": expected constant or ignore");
}

std::string window_text(const Window& window, int skip, std::string_view before_padding) {
  std::vector<int64_t> stride(static_cast<size_t>(skip), 1);
  std::vector<int64_t> dilation(static_cast<size_t>(skip), 1);
  Pads padding(static_cast<size_t>(skip), {0, 0});
  stride.insert(stride.end(), window.stride.begin(), window.stride.end());
  dilation.insert(dilation.end(), window.dilation.begin(), window.dilation.end());
  padding.insert(padding.end(), window.padding.begin(), window.padding.end());
  return str_cat(", dilation = ", nnef_text(std::span<const int64_t>(dilation)),
                 ", stride = ", nnef_text(std::span<const int64_t>(stride)),
                 ", border = \"constant\"", before_padding,
                 ", padding = ", window.same ? std::string("[]") : nnef_text(padding));
}

namespace {

/// Return the number that an expression is known to equal. For a symbolic one, only numbers below
/// `limit`, and below 64, are found.
std::optional<int64_t> number_of(const SymbolScope& scope, const Dim& dim, int64_t limit) {
  if (const auto number = scope.simplify(dim).to_int()) return number;
  for (int64_t i = 0; i < std::min<int64_t>(limit, 64); ++i) {
    if (scope.proves_ge(dim, Dim(i)) && scope.proves_ge(Dim(i), dim)) return i;
  }
  return std::nullopt;
}

}  // namespace

bool resolve_same(Window* window, const Fact& input, const SymbolScope* scope) {
  if (!window->same) return false;
  Pads padding;
  for (int i = 0; i < window->axes(); ++i) {
    const Dim& extent = input.dim(i + 2);
    const int64_t stride = window->stride[static_cast<size_t>(i)];
    if (const auto number = extent.to_int()) {
      padding.push_back(window->pads(i, *number));
      continue;
    }
    const Dim beyond = extent - floor_div(extent, stride) * Dim(stride);
    const auto rest = scope ? number_of(*scope, beyond, stride) : beyond.to_int();
    if (stride != 1 && !rest) {
      const auto any = window->pads_of_any(i, false);
      if (!any) return false;
      padding.push_back(*any);
      continue;
    }
    // All extents with the same remainder get the same padding.
    padding.push_back(window->pads(i, stride + rest.value_or(0)));
  }
  window->same = false;
  window->padding = std::move(padding);
  return true;
}

std::vector<int> channels_last(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + 1);
  order.push_back(1);
  return order;
}

namespace {

/// Pad x with the value of `element`, or with `number` if it is null.
Operand with_padding(Lowering& lowering, const Operand& x, const Window& window, float number,
                     const Operand* element) {
  const std::vector<int> order = channels_last(x.rank);
  Pads pads;
  bool any = false;
  for (int i = 0; i < window.axes(); ++i) {
    pads.push_back(window.pads(i, x.extent(i + 2)));
    any |= pads.back().first != 0 || pads.back().second != 0;
  }
  if (!any) {
    // Rows need not be contiguous (a ring, a slice of channels); channels must be.
    return lowering.innermost(x, 1);
  }
  std::vector<int64_t> shape(x.shape.begin(), x.shape.begin() + x.rank);
  for (int i = 0; i < window.axes(); ++i) {
    const auto& [before, after] = pads[static_cast<size_t>(i)];
    shape[static_cast<size_t>(i) + 2] += before + after;
  }
  Operand padded = lowering.scratch(x.dtype, shape, order);
  if (element == nullptr) {
    lowering.step(kFillFrames, {padded, number}, {}, {padded});
  } else {
    Operand everywhere = padded;
    everywhere.ref = element->ref;
    everywhere.stride = {};
    lowering.copy(everywhere, padded);
  }
  Operand inside = padded;
  for (int i = 0; i < window.axes(); ++i) {
    inside.advance(i + 2, pads[static_cast<size_t>(i)].first);
    inside.shape[static_cast<size_t>(i) + 2] = x.extent(i + 2);
  }
  lowering.copy(x, inside);
  return padded;
}

}  // namespace

Operand padded_rows(Lowering& lowering, const Operand& x, const Window& window, float value) {
  return with_padding(lowering, x, window, value, nullptr);
}

Operand padded_rows(Lowering& lowering, const Operand& x, const Window& window,
                    const Operand& value) {
  return with_padding(lowering, x, window, 0.0F, &value);
}

Result<OutletId> pulse_window(PulseBuilder& b, const Window& window, const Tensor& pad_value,
                              bool padding_is_frames, StreamFact* stream, Window* pulsed) {
  *stream = *b.stream(0);
  *pulsed = window;
  const int axis = stream->axis;
  if (axis == 1) {
    return b.refuse("Stream along time, not along channels",
                    "the streaming axis 1 is the channel axis, over which it sums");
  }
  if (axis == 0) return b.wire(0);
  const int spatial_axis = axis - 2;
  const auto a = static_cast<size_t>(spatial_axis);
  if (pulsed->same && !resolve_same(pulsed, b.in(0), &b.scope())) {
    return b.refuse(str_cat("Pad explicitly, or assert the remainder of the length by the "
                            "stride, as in --assert '",
                            b.symbol(), " == ", window.stride[a], " * (", b.symbol(), " / ",
                            window.stride[a], ")'"),
                    "its padding on streaming axis ", axis,
                    " depends on the length of the stream, with stride ", window.stride[a]);
  }
  StreamWindow on_stream;
  on_stream.kernel = pulsed->extent(spatial_axis);
  on_stream.stride = pulsed->stride[a];
  on_stream.dilation = pulsed->dilation[a];
  on_stream.before = pulsed->padding[a].first;
  on_stream.after = pulsed->padding[a].second;
  on_stream.pad_value = pad_value;
  // Every step reads all kept frames, including those before the start of the stream.
  if (std::max({on_stream.kernel, on_stream.before, on_stream.after}) > kMostReach) {
    return b.refuse("Use a window that a stream can keep",
                    "its window reaches over ", on_stream.kernel, " frames of streaming axis ",
                    axis, " and is padded by ", on_stream.before, " and ", on_stream.after,
                    ": expected at most ", kMostReach);
  }
  on_stream.frame_by_window = true;
  on_stream.unread = b.unread();
  on_stream.padding_is_frames = padding_is_frames || on_stream.before == 0;
  b.reads_from(0, on_stream.stride, -on_stream.before);
  RILL_ASSIGN(const OutletId out, b.window(b.wire(0), stream, on_stream));
  pulsed->padding[a] = {0, 0};
  return out;
}

}  // namespace rill::ops
