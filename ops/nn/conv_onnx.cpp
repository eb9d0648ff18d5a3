// Reads ONNX's Conv.

#include <optional>
#include <span>

#include "core/graph/onnx.h"
#include "ops/math/formula.h"
#include "ops/nn/conv.h"
#include "ops/nn/onnx_activation.h"
#include "ops/nn/onnx_window.h"
#include "ops/nn/quant_conv.h"

namespace rill::ops {
namespace {

/// Read a convolution of bytes with constant bytes as an exact int8 convolution times both scales,
/// which rounds less often and has an int8 kernel. Nothing for other convolutions, and for those
/// with too few terms to beat floats.
Result<std::optional<OutletId>> by_bytes(OnnxCtx& ctx, const Conv& conv, OutletId x, OutletId w) {
  constexpr int64_t kFewTerms = 64;
  const OnnxCtx::Quantised* signal = ctx.quantised(x);
  const OnnxCtx::Quantised* filter = ctx.quantised(w);
  if (!signal || !filter || conv.groups != 1 || ctx.fact(x).dtype != DType::kF32 ||
      ctx.fact(w).dtype != DType::kF32 || ctx.fact(signal->stored).konst ||
      volume(ctx.fact(signal->scale).shape) != Dim(1)) {
    return {std::nullopt};
  }
  const std::vector<Dim> shape = ctx.fact(w).shape;
  const std::vector<Dim> scales = ctx.fact(filter->scale).shape;
  const Dim count = volume(scales);
  const bool by_outputs = scales.size() == shape.size() && scales[0] == count;
  const auto terms = volume(std::span<const Dim>(shape).subspan(1)).to_int();
  if (!terms || *terms <= kFewTerms || (count != Dim(1) && !by_outputs)) return {std::nullopt};
  Formula f(ctx);
  ByteConv bytes;
  bytes.window = conv.window;
  bytes.x = signal->stored;
  bytes.x_zero = signal->zero;
  bytes.w = filter->stored;
  bytes.w_zero = filter->zero;
  RILL_ASSIGN(const std::optional<OutletId> sums, add_byte_conv(f, bytes));
  if (!sums) return {std::nullopt};
  std::vector<Dim> channels(shape.size() - 1, Dim(1));
  channels[0] = count;
  const OutletId scale = f.times(f.reshape(signal->scale, {}), f.reshape(filter->scale, channels));
  OutletId out = f.times(f.cast(*sums, DType::kF32), f.cast(scale, DType::kF32));
  if (conv.has_bias) {
    channels[0] = f.dim(f.arg("B"), 0);
    out = f.plus(out, f.reshape(f.arg("B"), channels));
  }
  if (!f.ok()) return f.take_status();
  return {out};
}

Result<Value> conv(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("X"));
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
  RILL_ASSIGN(const Tensor zero, Tensor::zeros(ctx.fact(x).dtype, {}, ctx.fact(x).q));
  RILL_ASSIGN(op.window, onnx_padded_window(ctx, kernel, zero, &x));
  RILL_ASSIGN(op.groups, ctx.integer("group"));
  RILL_TRY(take_channels(ctx, x, Dim(filter[1]) * Dim(op.groups)));
  op.has_bias = ctx.given("B");
  RILL_ASSIGN(const std::optional<OutletId> exact, by_bytes(ctx, op, x, w));
  if (exact) return Value(*exact);
  std::vector<OutletId> inputs{x, w};
  if (op.has_bias) {
    RILL_ASSIGN(const OutletId bias, ctx.wire("B"));
    inputs.push_back(bias);
  }
  return ctx.add_value(make_op<Conv>(op), inputs);
}

/// Apply a summand and an activation, as optimisers fuse them.
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
     fused_conv, Rounding::kOnce},
    {"", 1,
     "fragment Conv(X: tensor<scalar>, W: tensor<scalar>, B: tensor<scalar> = false, "
     "auto_pad: string = 'NOTSET', dilations: integer[] = [], group: integer = 1, "
     "kernel_shape: integer[] = [], pads: integer[] = [], strides: integer[] = []) "
     "-> (Y: tensor<scalar>);",
     conv},
};

}  // namespace

extern const OnnxModule conv_onnx;
const OnnxModule conv_onnx = {"conv", kOps};

}  // namespace rill::ops
