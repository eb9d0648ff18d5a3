// Reads ConvTranspose and Col2Im of ONNX.

#include <algorithm>

#include "core/base/checked.h"
#include "ops/math/formula.h"
#include "ops/nn/deconv.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {
namespace {

/// Transpose [C, O / groups, K...] to [O, C / groups, K...].
Result<OutletId> filter_of(Formula& f, OutletId w, int64_t groups) {
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(w);
  RILL_ASSIGN(const int64_t channels, in.dim(0).as_int());
  RILL_CHECK(groups >= 1 && channels % groups == 0, counted(groups, "group"), " for ", channels,
             " channels");
  std::vector<Dim> open = {Dim(groups), Dim(channels / groups)};
  open.insert(open.end(), in.shape.begin() + 1, in.shape.end());
  std::vector<int64_t> order = {0, 2, 1};
  for (int axis = 2; axis < in.rank(); ++axis) order.push_back(axis + 1);
  std::vector<Dim> shape = in.shape;
  shape[0] = in.dim(1) * Dim(groups);
  shape[1] = Dim(channels / groups);
  return f.reshape(f.transpose(f.reshape(w, open), order), shape);
}

/// Cut the output to the requested extents; `auto_pad` determines the side of an odd frame.
Status cut_to(const std::vector<Dim>& shape, const Fact& in, bool upper, Deconv* op) {
  for (int axis = 0; axis < op->window.axes(); ++axis) {
    const auto a = static_cast<size_t>(axis);
    const Dim plain = (in.dim(axis + 2) - Dim(1)) * Dim(op->window.stride[a]) +
                      Dim(op->window.extent(axis) + op->extra[a]);
    RILL_ASSIGN(const int64_t total, (plain - shape[a]).as_int());
    const int64_t less = total / 2;
    // If the output is too short, add frames at the end instead of cutting them.
    if (total < 0) {
      op->extra[a] -= total;
      op->window.padding.emplace_back(0, 0);
    } else if (upper) {
      op->window.padding.emplace_back(less, total - less);
    } else {
      op->window.padding.emplace_back(total - less, less);
    }
  }
  return {};
}

Result<Value> conv_transpose(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  const OutletId w = f.arg("W");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_ASSIGN(const auto filter, f.fact(w).concrete_shape());
  RILL_CHECK(filter.size() >= 3, "filter ", f.fact(w),
             ": expected [channels, outputs, spatial...]");
  const std::vector<int64_t> kernel(filter.begin() + 2, filter.end());
  if (ctx.given("kernel_shape")) {
    RILL_ASSIGN(const std::vector<int64_t> stated, ctx.integers("kernel_shape"));
    RILL_CHECK(stated == kernel, "attribute \"kernel_shape\" is ", stated, ", but the filter is ",
               f.fact(w));
  }
  Deconv op;
  RILL_TRY(take_channels(ctx, x, Dim(filter[0])));
  RILL_ASSIGN(op.window, onnx_window(ctx, kernel, in, WindowPads::kAsWritten));
  RILL_ASSIGN(op.groups, ctx.integer("group"));
  op.extra.assign(kernel.size(), 0);
  if (ctx.given("output_padding")) {
    RILL_ASSIGN(op.extra, ctx.integers("output_padding"));
    RILL_CHECK(op.extra.size() == kernel.size(), "attribute \"output_padding\" has ",
               counted(op.extra.size(), "entry", "entries"), ", expected ", kernel.size());
  }
  RILL_ASSIGN(const std::string auto_pad, ctx.text("auto_pad"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  std::vector<Dim> shape;
  if (ctx.given("output_shape")) {
    RILL_ASSIGN(shape, ctx.dims("output_shape"));
    // Some files include the batch and the channels in output_shape.
    if (shape.size() == kernel.size() + 2) shape.erase(shape.begin(), shape.begin() + 2);
    RILL_CHECK(shape.size() == kernel.size(), "attribute \"output_shape\" has ",
               counted(shape.size(), "entry", "entries"), ", expected ", kernel.size());
  } else if (same) {
    for (int axis = 0; axis < op.window.axes(); ++axis) {
      shape.push_back(in.dim(axis + 2) * Dim(op.window.stride[static_cast<size_t>(axis)]));
    }
  }
  if (!shape.empty()) {
    op.window.padding.clear();
    RILL_TRY(cut_to(shape, in, auto_pad == "SAME_UPPER", &op));
  }
  RILL_ASSIGN(const OutletId transposed, filter_of(f, w, op.groups));
  std::vector<OutletId> inputs{x, transposed};
  op.has_bias = ctx.given("B");
  if (op.has_bias) inputs.push_back(f.arg("B"));
  return f.value(f.add(make_op<Deconv>(op), inputs));
}

/// Return one filter per entry of the window: 1 at the position of the entry, else 0.
Result<Tensor> one_of_each(const std::vector<int64_t>& kernel) {
  constexpr int64_t kMostEntries = int64_t{1} << 14;  // the filters have the square of this
  const int64_t entries = checked_volume(kernel).value_or(0);
  RILL_CHECK(entries > 0 && entries <= kMostEntries, "block_shape is ", kernel,
             ": expected 1 to ", kMostEntries, " entries in all");
  std::vector<float> ones(static_cast<size_t>(entries * entries), 0.0F);
  for (int64_t i = 0; i < entries; ++i) ones[static_cast<size_t>(i * entries + i)] = 1.0F;
  std::vector<int64_t> shape = {1, entries};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return Tensor::of<float>(DType::kF32, shape, std::span<const float>(ones));
}

/// Return the number of frames that no window covers, along an axis of symbolic extent. `last`: the
/// frame at which the last possible window begins.
Result<int64_t> uncovered(const Dim& last, const Dim& windows, int64_t stride) {
  const auto rest = (last - (windows - Dim(1)) * Dim(stride)).to_int();
  if (rest && *rest >= 0 && *rest < stride) return *rest;
  return fail(rest ? Code::kShape : Code::kSymbol, windows, " windows with the stride ",
              stride, " do not cover an image whose last window begins at ", last)
      .hint(str_cat("Make the image that long, as in (windows - 1) * ", stride, " + block"));
}

/// Read Col2Im: add up the overlapping windows of an image, as a transposed convolution does.
Result<Value> col2im(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_ASSIGN(const std::vector<Dim> image, ctx.dims("image_shape"));
  RILL_ASSIGN(const std::vector<int64_t> kernel, ctx.integers("block_shape"));
  RILL_ASSIGN(Tensor filter, one_of_each(kernel));
  const int64_t entries = filter.extent(1);
  RILL_ASSIGN(filter, cast(filter, in.dtype));
  const auto channels = in.rank() == 3 ? exact_div(in.dim(1), Dim(entries)) : std::nullopt;
  RILL_CHECK(channels && image.size() == kernel.size(), "input ", in, ", windows of ", kernel,
             " of images of ", image, ": expected [batch, channels * entries, windows]");
  const auto axes = static_cast<int>(kernel.size());
  Deconv op;
  op.has_bias = false;
  const Fact windows = Fact::of(in.dtype, std::vector<Dim>(kernel.size() + 2, Dim(1)));
  RILL_ASSIGN(op.window, onnx_window(ctx, kernel, windows, WindowPads::kAsWritten));
  op.extra.assign(kernel.size(), 0);
  std::vector<Dim> shape = {in.dim(0) * *channels, Dim(entries)};
  std::vector<Dim> out = {in.dim(0), *channels};
  std::vector<Dim> last;
  Dim windows_of_others = 1;
  for (int axis = 0; axis < axes; ++axis) {
    const auto a = static_cast<size_t>(axis);
    const auto [before, after] = op.window.padding[a];
    last.push_back(image[a] + Dim(before + after - op.window.extent(axis)));
    out.push_back(image[a]);
    const auto number = last[a].to_int();
    if (!number) continue;
    RILL_CHECK(*number >= 0, "a window of ", op.window.extent(axis), " in an image of ", image[a]);
    windows_of_others = windows_of_others * Dim(*number / op.window.stride[a] + 1);
  }
  const auto is_open = [](const Dim& extent) { return !extent.is_const(); };
  RILL_CHECK(std::count_if(last.begin(), last.end(), is_open) <= 1, "image_shape is ", image,
             ": expected at most one extent that is not a number");
  for (size_t a = 0; a < last.size(); ++a) {
    const int64_t stride = op.window.stride[a];
    if (const auto number = last[a].to_int()) {
      shape.emplace_back(*number / stride + 1);
      op.extra[a] = *number % stride;
      continue;
    }
    const auto placed = exact_div(in.dim(2), windows_of_others);
    RILL_CHECK(placed, "input ", in, ": expected a multiple of ", windows_of_others, " windows");
    RILL_ASSIGN(op.extra[a], uncovered(last[a], *placed, stride));
    shape.push_back(*placed);
  }
  const OutletId sum =
      f.add(make_op<Deconv>(op), {f.reshape(x, shape), f.konst(std::move(filter))});
  return f.value(f.reshape(sum, out));
}

const OnnxOp kOps[] = {
    {"", 18,
     "fragment Col2Im(input: tensor<?>, image_shape: tensor<integer>, "
     "block_shape: tensor<integer>, auto_pad: string = 'NOTSET', dilations: integer[] = [], "
     "pads: integer[] = [], strides: integer[] = []) -> (output: tensor<?>);",
     col2im, Rounding::kOnce},
    {"", 1,
     "fragment ConvTranspose(X: tensor<?>, W: tensor<?>, B: tensor<?> = false, "
     "auto_pad: string = 'NOTSET', dilations: integer[] = [], group: integer = 1, "
     "kernel_shape: integer[] = [], output_padding: integer[] = [], output_shape: integer[] = [], "
     "pads: integer[] = [], strides: integer[] = []) -> (Y: tensor<?>);",
     conv_transpose},
};

}  // namespace

extern const OnnxModule deconv_onnx;
const OnnxModule deconv_onnx = {"deconv", kOps};

}  // namespace rill::ops
