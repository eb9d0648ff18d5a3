// Reads ONNX's DeformConv: samples the image at each tap of each window, and sums the taps by a
// convolution.

#include <algorithm>

#include "core/base/checked.h"
#include "ops/math/formula.h"
#include "ops/nn/conv.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {
namespace {

/// The extents of the node.
struct Extents {
  Dim batch;
  Dim channels;
  Dim images;  ///< one for each group of channels that share offsets
  Dim shared;  ///< channels of such a group
  int64_t taps = 1;
  std::vector<Dim> out;  ///< spatial
};

/// Return `front`, then the extents of a list from index `from` on.
std::vector<Dim> prepended(std::initializer_list<Dim> front, const std::vector<Dim>& of,
                           size_t from = 0) {
  std::vector<Dim> shape(front);
  for (size_t i = from; i < of.size(); ++i) shape.push_back(of[i]);
  return shape;
}

Result<Extents> extents_of(OnnxCtx& ctx, Formula& f, OutletId x, OutletId offset,
                           const Window& window) {
  const Fact in = f.fact(x);
  const Fact moved = f.fact(offset);
  RILL_CHECK(moved.rank() == in.rank(), "offset ", moved, ": expected the rank of ", in);
  Extents e;
  RILL_ASSIGN(const int64_t groups, ctx.integer("offset_group"));
  e.batch = in.dim(0);
  e.channels = in.dim(1);
  constexpr int64_t kMostTaps = int64_t{1} << 20;  // each has a position
  e.taps = checked_volume(window.kernel).value_or(kMostTaps + 1);
  RILL_CHECK(e.taps <= kMostTaps, "W has a window of ", window.kernel, ": expected at most ",
             kMostTaps, " taps in all");
  e.images = e.batch * Dim(groups);
  const auto shared = exact_div(e.channels, Dim(groups));
  RILL_CHECK(groups > 0 && shared, "attribute \"offset_group\" is ", groups, " for ", e.channels,
             " channels");
  e.shared = *shared;
  RILL_TRY(ctx.take_as_equal(moved.dim(0), e.batch));
  for (int axis = 0; axis < window.axes(); ++axis) {
    e.out.push_back(window.output(axis, in.dim(axis + 2)));
    RILL_TRY(ctx.take_as_equal(moved.dim(axis + 2), e.out.back()));
  }
  const Dim rows = Dim(groups) * Dim(e.taps) * Dim(window.axes());
  RILL_CHECK(moved.dim(1) == rows, "offset ", moved, ": expected ", rows, " on axis 1");
  return e;
}

/// Return the coordinates of the taps along one spatial axis, [batch * groups, taps, out...]: the
/// sum of the tap's position in its window, the window's position, and the offset.
OutletId component(Formula& f, OutletId offsets, int axis, const Extents& e,
                   const Window& window) {
  const auto at = static_cast<size_t>(axis);
  int64_t inner = 1;
  for (size_t i = at + 1; i < window.kernel.size(); ++i) inner *= window.kernel[i];
  std::vector<float> places;
  for (int64_t tap = 0; tap < e.taps; ++tap) {
    const int64_t place = tap / inner % window.kernel[at] * window.dilation[at];
    places.push_back(static_cast<float>(place - window.padding[at].first));
  }
  auto list = Tensor::of<float>(DType::kF32, {e.taps}, std::span<const float>(places));
  if (!list.ok()) {
    f.fail_with(list.status());
    return {};
  }
  std::vector<Dim> by_tap(e.out.size() + 1, Dim(1));
  by_tap[0] = Dim(e.taps);
  std::vector<Dim> by_window(e.out.size() - at, Dim(1));
  by_window[0] = e.out[at];
  OutletId window_at = f.cast(f.range(e.out[at]), DType::kF32);
  window_at = f.times(window_at, f.number(static_cast<double>(window.stride[at]), window_at));
  OutletId place = f.slice(offsets, 2, Dim(axis), Dim(axis + 1));
  place = f.plus(f.without_axis(place, 2), f.reshape(f.konst(std::move(*list)), by_tap));
  return f.plus(place, f.reshape(window_at, by_window));
}

/// Sample the images at the taps: [batch, channels, taps, windows].
OutletId sampled(Formula& f, OutletId x, OutletId offset, OutletId mask, const Extents& e,
                 const Window& window) {
  const Dim taps(e.taps);
  const OutletId offsets = f.reshape(f.cast(offset, DType::kF32),
                                     prepended({e.images, taps, Dim(window.axes())}, e.out));
  std::vector<OutletId> parts;
  for (int axis = window.axes(); axis-- > 0;) {
    const OutletId part = component(f, offsets, axis, e, window);
    parts.push_back(f.with_axis(part, window.axes() + 2));
  }
  // In the grid, each tap adds rows of windows.
  const Dim rows = taps * e.out[0];
  std::vector<Dim> grid = prepended({e.images, rows}, e.out, 1);
  grid.emplace_back(window.axes());
  const OutletId images = f.reshape(x, prepended({e.images, e.shared}, f.fact(x).shape, 2));
  OutletId out = f.call("rill_onnx_sample_pixels",
                        {{"input", Value(images)},
                         {"grid", Value(f.reshape(f.concat(parts, window.axes() + 2), grid))}});
  if (mask.valid()) {
    out = f.times(out, f.reshape(mask, prepended({e.images, Dim(1), rows}, e.out, 1)));
  }
  return f.reshape(out, {e.batch, e.channels, taps, volume(e.out)});
}

Result<Value> deform_conv(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  const OutletId w = f.arg("W");
  const OutletId offset = f.arg("offset");
  const OutletId mask = ctx.given("mask") ? f.arg("mask") : OutletId{};
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const std::vector<int64_t> filter, f.fact(w).concrete_shape());
  RILL_CHECK(filter.size() >= 3 && f.rank(x) == static_cast<int>(filter.size()), "X ", f.fact(x),
             ", W ", f.fact(w), ": expected one rank of at least 3");
  if (ctx.given("kernel_shape")) {
    RILL_ASSIGN(const std::vector<int64_t> stated, ctx.integers("kernel_shape"));
    RILL_CHECK(std::equal(stated.begin(), stated.end(), filter.begin() + 2, filter.end()),
               "attribute \"kernel_shape\" is ", stated, ", W ", f.fact(w));
  }
  Conv op;
  RILL_ASSIGN(op.groups, ctx.integer("group"));
  RILL_CHECK(op.groups > 0, "attribute \"group\" is ", op.groups);
  RILL_TRY(take_channels(ctx, x, Dim(filter[1]) * Dim(op.groups)));
  RILL_ASSIGN(const Window window,
              onnx_window(ctx, {filter.begin() + 2, filter.end()}, f.fact(x)));
  RILL_ASSIGN(const Extents e, extents_of(ctx, f, x, offset, window));
  op.window.kernel = {e.taps, 1};
  op.window.stride = op.window.dilation = {1, 1};
  op.window.padding = {{0, 0}, {0, 0}};
  op.has_bias = ctx.given("B");
  std::vector<OutletId> inputs{sampled(f, x, offset, mask, e, window),
                               f.reshape(w, {Dim(filter[0]), Dim(filter[1]), Dim(e.taps), 1})};
  if (op.has_bias) inputs.push_back(f.arg("B"));
  const OutletId sums = f.add(make_op<Conv>(op), inputs);
  return f.value(f.reshape(sums, prepended({e.batch, Dim(filter[0])}, e.out)));
}

const OnnxOp kOps[] = {
    {"", 19,
     "fragment DeformConv(X: tensor<?>, W: tensor<?>, offset: tensor<?>, B: tensor<?> = false, "
     "mask: tensor<?> = false, dilations: integer[] = [], group: integer = 1, "
     "kernel_shape: integer[] = [], offset_group: integer = 1, pads: integer[] = [], "
     "strides: integer[] = []) -> (Y: tensor<?>);",
     deform_conv, Rounding::kOnce},
};

}  // namespace

extern const OnnxModule deform_conv_onnx;
const OnnxModule deform_conv_onnx = {"deform_conv", kOps};

}  // namespace rill::ops
