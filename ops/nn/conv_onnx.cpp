// How ONNX's Conv is read.

#include "core/graph/onnx.h"
#include "ops/nn/conv.h"
#include "ops/nn/onnx_activation.h"
#include "ops/nn/onnx_window.h"

namespace rill::ops {
namespace {

Result<Value> conv(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const OutletId w, ctx.wire("W"));
  RILL_ASSIGN(const auto filter, ctx.fact(w).concrete_shape());
  RILL_CHECK(filter.size() >= 3, "filter ", ctx.fact(w),
             ": expected [outputs, channels, spatial...]");
  const std::vector<int64_t> kernel(filter.begin() + 2, filter.end());
  if (ctx.given("kernel_shape")) {
    RILL_ASSIGN(const std::vector<int64_t> stated, ctx.integers("kernel_shape"));
    RILL_CHECK(stated == kernel, "attribute \"kernel_shape\" is ", stated, ", but the filter is ",
               ctx.fact(w));
  }
  Conv op;
  RILL_ASSIGN(op.window, onnx_window(ctx, kernel, ctx.fact(x)));
  RILL_ASSIGN(op.groups, ctx.integer("group"));
  RILL_TRY(take_channels(ctx, x, Dim(filter[1]) * Dim(op.groups)));
  op.has_bias = ctx.given("B");
  std::vector<OutletId> inputs{x, w};
  if (op.has_bias) {
    RILL_ASSIGN(const OutletId bias, ctx.wire("B"));
    inputs.push_back(bias);
  }
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<Conv>(op), std::move(inputs)));
  return Value(out);
}

/// A summand and a function behind it, as optimisers of files fuse them.
Result<Value> fused_conv(OnnxCtx& ctx) {
  RILL_ASSIGN(const Value plain, conv(ctx));
  Formula f(ctx);
  OutletId out = *plain.get<OutletId>();
  if (ctx.given("Z")) out = f.plus(out, f.arg("Z"));
  RILL_ASSIGN(const std::string name, ctx.text("activation"));
  RILL_ASSIGN(const std::vector<float> parameters, numbers_of(ctx, "activation_params"));
  RILL_ASSIGN(out, activated(f, out, name, parameters));
  return f.value(out);
}

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment FusedConv(X: tensor<scalar>, W: tensor<scalar>, B: tensor<scalar> = false, "
     "Z: tensor<scalar> = false, activation: string = '', activation_params: scalar[] = [], "
     "auto_pad: string = 'NOTSET', dilations: integer[] = [], group: integer = 1, "
     "kernel_shape: integer[] = [], pads: integer[] = [], strides: integer[] = []) "
     "-> (Y: tensor<scalar>);",
     fused_conv},
    {"", 1,
     "fragment Conv(X: tensor<scalar>, W: tensor<scalar>, B: tensor<scalar> = false, "
     "auto_pad: string = 'NOTSET', dilations: integer[] = [], group: integer = 1, "
     "kernel_shape: integer[] = [], pads: integer[] = [], strides: integer[] = []) "
     "-> (Y: tensor<scalar>);",
     conv},
};

}  // namespace

extern const OnnxRoom conv_onnx;
const OnnxRoom conv_onnx = {"conv", kOps};

}  // namespace rill::ops
