// Resizing is resampling, one axis after the other.

#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/math/binary.h"
#include "ops/nn/resample.h"

namespace rill::ops {
namespace {

/// Add one node per axis that changes; all but copies compute in f32.
Result<Value> add_axes(LoadCtx& ctx, OutletId x, const ResizeAxis& like,
                       const std::vector<float>& scales, const std::vector<Dim>& sizes,
                       const std::vector<float>& roi) {
  const size_t rank = ctx.fact(x).shape.size();
  const DType dtype = ctx.fact(x).dtype;
  const bool crop = like.coord == "tf_crop_and_resize";
  const bool in_f32 = !like.is_nearest() || crop;
  if (in_f32) {
    RILL_ASSIGN(x, cast_to(ctx, x, DType::kF32));
  }
  RILL_CHECK(scales.empty() ? sizes.size() == rank : scales.size() == rank, "input ", ctx.fact(x),
             ": expected ", rank, " scales or sizes, found ",
             scales.empty() ? sizes.size() : scales.size());
  RILL_CHECK(!crop || roi.size() == 2 * rank, "roi of ", counted(roi.size(), "value"),
             ": expected ", 2 * rank);
  std::vector<ResizeAxis> steps;
  for (size_t i = 0; i < rank; ++i) {
    const Dim& from = ctx.fact(x).shape[i];
    ResizeAxis op = like;
    op.axis = static_cast<int64_t>(i);
    if (scales.empty()) {
      op.to = sizes[i];
    } else {
      op.scale = scales[i];
      RILL_ASSIGN(op.to, scaled_extent(from, scales[i]));
    }
    if (crop) {
      op.roi_begin = roi[i];
      op.roi_end = roi[i + rank];
    }
    const bool whole = !crop || (op.roi_begin == 0.0F && op.roi_end == 1.0F);
    const bool kept = from == op.to && (scales.empty() || scales[i] == 1.0F);
    if (!kept || !whole) steps.push_back(op);
  }
  for (const ResizeAxis& op : steps) {
    const bool last = &op == &steps.back();
    RILL_ASSIGN(
        x, ctx.add1(make_op<ResizeAxis>(op), {x}, last ? std::string() : str_cat("axis", op.axis)));
  }
  RILL_ASSIGN(x, cast_to(ctx, x, dtype));
  return as_value(x);
}

Result<std::vector<float>> numbers(LoadCtx& ctx, std::string_view name) {
  RILL_ASSIGN(const OutletId wire, ctx.wire(name));
  const TensorPtr konst = ctx.fact(wire).konst;
  if (!konst) {
    return fail(Code::kUnsupported, "argument \"", name, "\" is not a constant")
        .hint("Every shape is known before a run: give numbers");
  }
  std::vector<float> out;
  for (int64_t i = 0; i < konst->volume(); ++i) {
    RILL_ASSIGN(const double value, element_as_double(*konst, i));
    out.push_back(static_cast<float>(value));
  }
  return out;
}

Result<bool> is_given(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(const Value value, ctx.value(name));
  return value.get<bool>() == nullptr;
}

Status read_modes(LoadCtx& ctx, ResizeAxis* op) {
  RILL_ASSIGN(op->coord, ctx.text("coord_transformer"));
  RILL_ASSIGN(op->interpolator, ctx.text("interpolator"));
  RILL_ASSIGN(op->nearest, ctx.text("nearest_mode"));
  return {};
}

Result<Value> load_core(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  ResizeAxis op;
  RILL_TRY(read_modes(ctx, &op));
  // In files from PyTorch, the single frame of an output has the coordinate that the first of
  // several would have. ONNX's mode of this name puts it at the first frame of the input.
  if (means_pytorch(ctx.graph()) && op.coord == "pytorch_half_pixel") op.coord = "half_pixel";
  RILL_ASSIGN(const bool by_scale, is_given(ctx, "scales"));
  RILL_ASSIGN(const bool by_size, is_given(ctx, "sizes"));
  if (by_scale == by_size) return fail(Code::kArg, "expected either scales or sizes");
  std::vector<float> scales;
  std::vector<Dim> sizes;
  if (by_scale) {
    RILL_ASSIGN(scales, numbers(ctx, "scales"));
  } else {
    RILL_ASSIGN(sizes, ctx.dims("sizes"));
  }
  return add_axes(ctx, x, op, scales, sizes, {});
}

Result<Value> load_onnx(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  ResizeAxis op;
  RILL_TRY(read_modes(ctx, &op));
  RILL_ASSIGN(const std::vector<float> scales, numbers(ctx, "scales"));
  RILL_ASSIGN(const bool has_roi, is_given(ctx, "roi"));
  std::vector<float> roi;
  if (has_roi) {
    RILL_ASSIGN(roi, numbers(ctx, "roi"));
  }
  RILL_ASSIGN(op.cubic_a, ctx.number("cubic_coeff_a"));
  RILL_ASSIGN(op.exclude_outside, ctx.boolean("exclude_outside"));
  RILL_ASSIGN(op.antialias, ctx.boolean("antialias"));
  RILL_ASSIGN(op.outside, ctx.number("extrapolation_value"));
  return add_axes(ctx, x, op, scales, {}, roi);
}

/// Read `factor`: whole numbers for the last axes.
Result<std::vector<float>> factors(LoadCtx& ctx, OutletId x) {
  RILL_ASSIGN(const std::vector<int64_t> given, ctx.integers("factor"));
  const size_t rank = ctx.fact(x).shape.size();
  RILL_CHECK(given.size() <= rank, given.size(), " factors for ", ctx.fact(x));
  std::vector<float> scales(rank - given.size(), 1.0F);
  for (const int64_t factor : given) {
    RILL_CHECK(factor >= 1, "factor ", factor, ": expected 1 or more");
    scales.push_back(static_cast<float>(factor));
  }
  return scales;
}

Result<Value> load_nearest(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const std::vector<float> scales, factors(ctx, x));
  ResizeAxis op;
  op.coord = "asymmetric";
  return add_axes(ctx, x, op, scales, {}, {});
}

Result<Value> load_multilinear(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const std::vector<float> scales, factors(ctx, x));
  RILL_ASSIGN(const std::string method, ctx.text("method"));
  RILL_ASSIGN(const std::string border, ctx.text("border"));
  ResizeAxis op;
  op.interpolator = "linear";
  if (method == "aligned") {
    op.coord = "align_corners";
  } else if (method == "asymmetric") {
    op.coord = "asymmetric";
  } else if (method != "symmetric") {
    return fail(Code::kArg, "method \"", method, "\": expected symmetric, aligned or asymmetric");
  }
  if (border != "replicate" && border != "replicated") {
    return fail(Code::kUnsupported, "border \"", border, "\": expected replicate");
  }
  return add_axes(ctx, x, op, scales, {}, {});
}

constexpr NnefOp kAxisForm = {
    "rill_onnx",
    "fragment rill_onnx_resize_axis<?>(input: tensor<?>, axis: integer, to: integer,"
    " scale: scalar, coord: string, interpolator: string, nearest: string, roi_begin: scalar,"
    " roi_end: scalar, cubic_a: scalar, outside: scalar, exclude_outside: logical,"
    " antialias: logical) -> (output: tensor<?>);",
    load_declared<ResizeAxis>};

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_resize(input: tensor<scalar>, scales: tensor<scalar> = false,"
     " sizes: tensor<scalar> = false, coord_transformer: string = 'half_pixel',"
     " interpolator: string = 'nearest', nearest_mode: string = 'floor')"
     " -> (output: tensor<scalar>);",
     load_core},
    {"tract_core",
     "fragment nearest_upsample(input: tensor<scalar>, factor: integer[])"
     " -> (output: tensor<scalar>);",
     load_nearest},
    {"tract_core",
     "fragment multilinear_upsample(input: tensor<scalar>, factor: integer[],"
     " method: string = 'symmetric', border: string = 'replicate') -> (output: tensor<scalar>);",
     load_multilinear},
    {"tract_onnx",
     "fragment tract_onnx_resize(input: tensor<scalar>, scales: tensor<scalar>,"
     " roi: tensor<scalar> = false, coord_transformer: string = 'half_pixel',"
     " interpolator: string = 'nearest', nearest_mode: string = 'floor',"
     " cubic_coeff_a: scalar = -0.75, exclude_outside: logical = false,"
     " antialias: logical = false, extrapolation_value: scalar = 0.0)"
     " -> (output: tensor<scalar>);",
     load_onnx},
    kAxisForm,
};

constexpr OpClass kClasses[] = {op_class<ResizeAxis>("ResizeAxis")};

}  // namespace

const NnefOp kResizeAxisForm = kAxisForm;

extern const OpModule resize_module;
const OpModule resize_module = {"resize", kOps, kClasses};

}  // namespace rill::ops
