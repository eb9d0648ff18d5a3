// Reads ONNX's RoiAlign.

#include "ops/math/formula.h"

namespace rill::ops {
namespace {

/// Return whether pixel centres are at halves. Opset 10 has no attribute for it: they are not.
Result<bool> half_pixel(OnnxCtx& ctx) {
  if (!ctx.has("coordinate_transformation_mode")) return false;
  RILL_ASSIGN(const std::string mode, ctx.text("coordinate_transformation_mode"));
  RILL_CHECK(mode == "half_pixel" || mode == "output_half_pixel",
             "attribute \"coordinate_transformation_mode\" is ", mode,
             ": expected half_pixel or output_half_pixel");
  return mode == "half_pixel";
}

Result<Value> roi_align(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  const OutletId regions = f.arg("rois");
  const OutletId images = f.arg("batch_indices");
  const DType type = f.dtype(x);
  if (!f.ok()) return f.take_status();
  if (!is_float(type) || !is_float(f.dtype(regions))) {
    return fail(Code::kDType, "X ", f.fact(x), ", rois ", f.fact(regions), ": expected floats");
  }
  if (f.rank(regions) == 2 && f.rank(images) == 1) {
    RILL_TRY(ctx.take_as_equal(f.dim(images, 0), f.dim(regions, 0)));
    RILL_TRY(ctx.take_as_equal(f.dim(regions, 1), Dim(4)));
  }
  RILL_ASSIGN(const std::string mode, ctx.text("mode"));
  RILL_CHECK(mode == "avg" || mode == "max", "attribute \"mode\" is ", mode,
             ": expected avg or max");
  RILL_ASSIGN(const bool half, half_pixel(ctx));
  RILL_ASSIGN(const int64_t height, ctx.integer("output_height"));
  RILL_ASSIGN(const int64_t width, ctx.integer("output_width"));
  RILL_ASSIGN(const int64_t points, ctx.integer("sampling_ratio"));
  RILL_ASSIGN(const float scale, ctx.number("spatial_scale"));
  const OutletId out = f.call("rill_onnx_roi_align",
                              {{"input", Value(f.cast(x, DType::kF32))},
                               {"regions", Value(f.cast(regions, DType::kF32))},
                               {"images", Value(images)},
                               {"height", Value(Dim(height))},
                               {"width", Value(Dim(width))},
                               {"points", Value(Dim(points))},
                               {"scale", Value(scale)},
                               {"half_pixel", Value(half)},
                               {"largest", Value(mode == "max")}});
  return f.value(f.cast(out, type));
}

#define RILL_ONNX_ROI_ALIGN(since, attribute)                                             \
  {"", since,                                                                             \
   "fragment RoiAlign(X: tensor<?>, rois: tensor<?>, "                                    \
   "batch_indices: tensor<integer>, " attribute                                           \
   "mode: string = 'avg', "                                                               \
   "output_height: integer = 1, output_width: integer = 1, sampling_ratio: integer = 0, " \
   "spatial_scale: scalar = 1.0) -> (Y: tensor<?>);",                                     \
   roi_align, Rounding::kOnce}

const OnnxOp kOps[] = {
    RILL_ONNX_ROI_ALIGN(10, ""),
    RILL_ONNX_ROI_ALIGN(16, "coordinate_transformation_mode: string = 'half_pixel', "),
};

}  // namespace

extern const OnnxModule roi_align_onnx;
const OnnxModule roi_align_onnx = {"roi_align", kOps};

}  // namespace rill::ops
