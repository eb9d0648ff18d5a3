// How ONNX's GridSample is read.

#include "core/graph/onnx.h"

namespace rill::ops {
namespace {

Result<Value> grid_sample(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const OutletId grid, ctx.wire("grid"));
  RILL_ASSIGN(std::string mode, ctx.text("mode"));
  RILL_ASSIGN(std::string padding, ctx.text("padding_mode"));
  RILL_ASSIGN(const bool align, ctx.boolean("align_corners"));
  // Opset 20 names them anew.
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  RILL_ASSIGN(const OutletId out, ctx.call1("tract_core_grid_sample",
                                            {{"input", Value(x)},
                                             {"grid", Value(grid)},
                                             {"mode", Value(std::move(mode))},
                                             {"padding_mode", Value(std::move(padding))},
                                             {"align_corners", Value(align)}}));
  return Value(out);
}

const OnnxOp kOps[] = {
    {"", 16,
     "fragment GridSample(X: tensor<?>, grid: tensor<?>, align_corners: logical = false, "
     "mode: string = 'bilinear', padding_mode: string = 'zeros') -> (Y: tensor<?>);",
     grid_sample},
    {"", 20,
     "fragment GridSample(X: tensor<?>, grid: tensor<?>, align_corners: logical = false, "
     "mode: string = 'linear', padding_mode: string = 'zeros') -> (Y: tensor<?>);",
     grid_sample},
};

}  // namespace

extern const OnnxRoom grid_sample_onnx;
const OnnxRoom grid_sample_onnx = {"grid_sample", kOps};

}  // namespace rill::ops
