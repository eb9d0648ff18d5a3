// Reads ONNX's Resize and similar operators.

#include <cmath>
#include <numeric>

#include "ops/array/common.h"
#include "ops/math/formula.h"
#include "ops/nn/resample.h"

namespace rill::ops {
namespace {

/// Return the numbers of an input or attribute; none if it is absent or empty.
Result<std::vector<float>> floats(OnnxCtx& ctx, std::string_view name) {
  std::vector<float> out;
  if (!ctx.has(name) || !ctx.given(name)) return out;
  RILL_ASSIGN(const OutletId wire, ctx.wire(name));
  const TensorPtr konst = ctx.fact(wire).konst;
  if (!konst) {
    return fail(Code::kUnsupported, "input \"", name, "\" depends on data, but decides the shape")
        .hint("Give its value: --constantize NAME=VALUE for the input that it depends on");
  }
  RILL_ASSIGN(const Tensor wide, cast(*konst, DType::kF32));
  const auto values = wide.values<float>();
  out.assign(values.begin(), values.end());
  return out;
}

/// Use one scale for all axes, the smallest or the largest, so that the image keeps its
/// proportions.
Status keep_aspect(std::string_view policy, std::vector<ResizeAxis>* steps, const Fact& in) {
  if (policy == "stretch") return {};
  const bool larger = policy == "not_smaller";
  RILL_CHECK(larger || policy == "not_larger", "attribute \"keep_aspect_ratio_policy\" is ",
             policy, ": expected stretch, not_larger or not_smaller");
  double scale = larger ? 0.0 : HUGE_VAL;
  for (const ResizeAxis& op : *steps) {
    RILL_ASSIGN(const int64_t from, in.dim(static_cast<int>(op.axis)).as_int());
    RILL_ASSIGN(const int64_t to, op.to.as_int());
    const double own = static_cast<double>(to) / static_cast<double>(from);
    scale = larger ? std::max(scale, own) : std::min(scale, own);
  }
  for (ResizeAxis& op : *steps) {
    RILL_ASSIGN(const int64_t from, in.dim(static_cast<int>(op.axis)).as_int());
    const double to = std::floor(scale * static_cast<double>(from) + 0.5);
    RILL_CHECK(to >= 0 && to < 0x1p62, "attribute \"keep_aspect_ratio_policy\" is ", policy,
               ": an extent of ", from, " has no size in proportion to the others");
    op.to = Dim(static_cast<int64_t>(to));
    op.scale = static_cast<float>(scale);
  }
  return {};
}

Result<ResizeAxis> modes_of(OnnxCtx& ctx) {
  ResizeAxis op;
  RILL_ASSIGN(op.interpolator, ctx.text("mode"));
  if (op.interpolator == "bilinear") op.interpolator = "linear";
  if (!ctx.has("coordinate_transformation_mode")) {
    op.coord = "asymmetric";
    op.nearest = "floor";
    return op;
  }
  RILL_ASSIGN(op.coord, ctx.text("coordinate_transformation_mode"));
  RILL_ASSIGN(op.nearest, ctx.text("nearest_mode"));
  RILL_ASSIGN(op.cubic_a, ctx.number("cubic_coeff_a"));
  RILL_ASSIGN(op.exclude_outside, ctx.boolean("exclude_outside"));
  RILL_ASSIGN(op.outside, ctx.number("extrapolation_value"));
  if (ctx.has("antialias")) {
    RILL_ASSIGN(op.antialias, ctx.boolean("antialias"));
  }
  return op;
}

/// Return whether no extent changes: onnxruntime then copies the input, whatever the scales are. A
/// scale in (1, 1.5) does not change small symbolic extents; assert that the extent is large enough
/// to grow.
bool stays(OnnxCtx& ctx, const Fact& in, const std::vector<ResizeAxis>& steps) {
  SymbolScope& scope = ctx.graph().scope;
  std::string longer;
  for (const ResizeAxis& op : steps) {
    const Dim& from = in.dim(static_cast<int>(op.axis));
    if (op.to == from) continue;
    if (op.to.is_const() || !(op.scale > 1.0F && op.scale < 1.5F)) return false;
    longer = str_cat(op.to, " >= ", from + Dim(1));
  }
  return longer.empty() || !scope.assert_text(longer).ok();
}

/// Return one resampling per named axis, or per axis of the input.
Result<std::vector<ResizeAxis>> steps_of(OnnxCtx& ctx, const Fact& in) {
  RILL_ASSIGN(const ResizeAxis like, modes_of(ctx));
  std::vector<int64_t> axes(static_cast<size_t>(in.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.has("axes") && ctx.given("axes")) {
    RILL_ASSIGN(axes, ctx.integers("axes"));
  }
  RILL_ASSIGN(const std::vector<float> scales, floats(ctx, "scales"));
  std::vector<Dim> sizes;
  if (scales.empty() && ctx.has("sizes") && ctx.given("sizes")) {
    RILL_ASSIGN(sizes, ctx.dims("sizes"));
  }
  RILL_ASSIGN(const std::vector<float> roi, floats(ctx, "roi"));
  RILL_CHECK((scales.empty() ? sizes.size() : scales.size()) == axes.size(), "input ", in,
             ": expected ", axes.size(), " scales or sizes, found ",
             scales.empty() ? sizes.size() : scales.size());
  RILL_CHECK(!like.is_crop() || roi.size() == 2 * axes.size(), "roi of ",
             counted(roi.size(), "value"), ": expected ", 2 * axes.size());
  std::vector<ResizeAxis> steps;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis op = like;
    RILL_ASSIGN(op.axis, axis_in(axes[i], in.rank()));
    const Dim from = in.dim(static_cast<int>(op.axis));
    if (scales.empty()) {
      op.to = sizes[i];
    } else {
      // If ends are aligned, onnxruntime and PyTorch scale by the ratio of the integer extents; the
      // standard's reference keeps the fraction of the product of extent and scale.
      const bool ends_meet = like.coord == "align_corners" || like.is_crop();
      op.scale = ends_meet ? 0.0F : scales[i];
      RILL_ASSIGN(op.to, scaled_extent(from, scales[i]));
    }
    if (like.is_crop()) {
      op.roi_begin = roi[i];
      op.roi_end = roi[i + axes.size()];
    }
    steps.push_back(op);
  }
  if (scales.empty() && ctx.has("keep_aspect_ratio_policy")) {
    RILL_ASSIGN(const std::string policy, ctx.text("keep_aspect_ratio_policy"));
    RILL_TRY(keep_aspect(policy, &steps, in));
  }
  if (!like.is_crop() && stays(ctx, in, steps)) steps.clear();
  std::erase_if(steps, [&](const ResizeAxis& op) {
    const bool whole = !op.is_crop() || (op.roi_begin == 0.0F && op.roi_end == 1.0F);
    const bool kept = in.dim(static_cast<int>(op.axis)) == op.to;
    return whole && kept && (op.scale == 0.0F || op.scale == 1.0F);
  });
  return steps;
}

Result<Value> resize(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  const DType own = f.fact(x).dtype;
  RILL_ASSIGN(const std::vector<ResizeAxis> steps, steps_of(ctx, f.fact(x)));
  for (const ResizeAxis& op : steps) {
    if (!op.is_nearest() || op.is_crop()) x = f.cast(x, DType::kF32);
    x = f.add(make_op<ResizeAxis>(op), {x});
  }
  return f.value(f.cast(x, own));
}

/// The common attributes of DepthToSpace and SpaceToDepth.
struct Blocks {
  int64_t size = 0;
  std::string mode = "DCR";
};

Result<Blocks> blocks_of(OnnxCtx& ctx, const Fact& in) {
  Blocks blocks;
  RILL_ASSIGN(blocks.size, ctx.integer("blocksize"));
  if (ctx.has("mode")) {
    RILL_ASSIGN(blocks.mode, ctx.text("mode"));
  }
  RILL_CHECK(blocks.mode == "DCR" || blocks.mode == "CRD", "attribute \"mode\" is ", blocks.mode,
             ": expected DCR or CRD");
  RILL_CHECK(in.rank() == 4 && blocks.size > 0, "input ", in, ", blocks of ", blocks.size,
             ": expected [batch, channels, height, width]");
  return blocks;
}

/// Read DepthToSpace: channels become blocks of the image.
Result<Value> depth_to_space(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_ASSIGN(const Blocks blocks, blocks_of(ctx, in));
  const int64_t block = blocks.size;
  const auto depth = exact_div(in.dim(1), Dim(block * block));
  RILL_CHECK(depth, "input ", in, ": the channels are not a multiple of ", block * block);
  const bool blocks_first = blocks.mode == "DCR";
  const OutletId split =
      blocks_first
          ? f.reshape(x, {in.dim(0), Dim(block), Dim(block), *depth, in.dim(2), in.dim(3)})
          : f.reshape(x, {in.dim(0), *depth, Dim(block), Dim(block), in.dim(2), in.dim(3)});
  const std::vector<int64_t> order = blocks_first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2}
                                                  : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  return f.value(f.reshape(f.transpose(split, order),
                           {in.dim(0), *depth, in.dim(2) * Dim(block), in.dim(3) * Dim(block)}));
}

Result<Value> space_to_depth(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_ASSIGN(const Blocks blocks, blocks_of(ctx, in));
  const int64_t block = blocks.size;
  const auto blocks_on = [&](int axis) -> std::optional<Dim> {
    const Dim& extent = in.dim(axis);
    const Dim count = floor_div(extent, block);
    if (ctx.graph().scope.simplify(count * Dim(block) - extent) == Dim(0)) return count;
    const std::string whole = str_cat(extent, " == ", count * Dim(block));
    // ONNX defines no result for other extents.
    if (extent.is_const() || !ctx.graph().scope.assert_text(whole).ok()) return std::nullopt;
    return count;
  };
  const auto height = blocks_on(2);
  const auto width = blocks_on(3);
  RILL_CHECK(height && width, "input ", in, ": height and width are not multiples of ", block);
  const OutletId split =
      f.reshape(x, {in.dim(0), in.dim(1), *height, Dim(block), *width, Dim(block)});
  const std::vector<int64_t> order = blocks.mode == "DCR" ? std::vector<int64_t>{0, 3, 5, 1, 2, 4}
                                                   : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
  return f.value(f.reshape(f.transpose(split, order),
                           {in.dim(0), in.dim(1) * Dim(block * block), *height, *width}));
}

#define RILL_ONNX_RESIZE(since, inputs, attributes)                                              \
  {                                                                                              \
    "", since, "fragment Resize(X: tensor<?>, " inputs ", "                                      \
        "coordinate_transformation_mode: string = 'half_pixel', cubic_coeff_a: scalar = -0.75, " \
        "exclude_outside: logical = false, extrapolation_value: scalar = 0.0, "                  \
        "mode: string = 'nearest', nearest_mode: string = 'round_prefer_floor'" attributes       \
        ") -> (Y: tensor<?>);",                                                                  \
        resize                                                                                   \
  }

const OnnxOp kOps[] = {
    {"", 10, "fragment Resize(X: tensor<?>, scales: tensor<?>, mode: string = 'nearest') "
             "-> (Y: tensor<?>);",
     resize},
    RILL_ONNX_RESIZE(11, "roi: tensor<?>, scales: tensor<?>, sizes: tensor<integer> = false", ""),
    RILL_ONNX_RESIZE(13, "roi: tensor<?> = false, scales: tensor<?> = false, "
                         "sizes: tensor<integer> = false", ""),
    RILL_ONNX_RESIZE(18, "roi: tensor<?> = false, scales: tensor<?> = false, "
                         "sizes: tensor<integer> = false",
                     ", antialias: logical = false, axes: integer[] = [], "
                     "keep_aspect_ratio_policy: string = 'stretch'"),
    {"", 7, "fragment Upsample(X: tensor<?>, mode: string = 'nearest', scales: scalar[]) "
            "-> (Y: tensor<?>);",
     resize},
    {"", 9, "fragment Upsample(X: tensor<?>, scales: tensor<?>, mode: string = 'nearest') "
            "-> (Y: tensor<?>);",
     resize},
    {"", 1, "fragment DepthToSpace(input: tensor<?>, blocksize: integer) -> (output: tensor<?>);",
     depth_to_space},
    {"", 11,
     "fragment DepthToSpace(input: tensor<?>, blocksize: integer, mode: string = 'DCR') "
     "-> (output: tensor<?>);",
     depth_to_space},
    {"", 1, "fragment SpaceToDepth(input: tensor<?>, blocksize: integer) -> (output: tensor<?>);",
     space_to_depth},
    {"", 28,
     "fragment SpaceToDepth(input: tensor<?>, blocksize: integer, mode: string = 'DCR') "
     "-> (output: tensor<?>);",
     space_to_depth},
};

}  // namespace

extern const OnnxModule resize_onnx;
const OnnxModule resize_onnx = {"resize", kOps};

}  // namespace rill::ops
