// How ONNX's CausalConvWithState is read.

#include "ops/math/formula.h"
#include "ops/nn/conv.h"

namespace rill::ops {
namespace {

/// A convolution of each channel by itself, with the frames of the call before in front.
Result<Value> causal_conv(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  const OutletId w = f.arg("weight");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const std::string activation, ctx.text("activation"));
  const bool silu = activation == "silu" || activation == "swish";
  RILL_CHECK(silu || activation == "none", "attribute \"activation\" is ", activation,
             ": expected none, silu or swish");
  const Fact in = f.fact(x);
  RILL_ASSIGN(const auto filter, f.fact(w).concrete_shape());
  RILL_CHECK(in.rank() == 3 && filter.size() == 3 && filter[1] == 1 && in.dim(1) == Dim(filter[0]),
             "input ", in, ", filter ", f.fact(w),
             ": expected [batch, channels, frames] and [channels, 1, size]");
  const int64_t before = filter[2] - 1;
  OutletId past;
  if (ctx.given("past_state")) {
    past = f.arg("past_state");
    RILL_CHECK(f.dim(past, 2) == Dim(before), "past_state ", f.fact(past), ": expected ", before,
               " frames");
  } else {
    past = f.broadcast(f.number(0.0, x), {in.dim(0), in.dim(1), Dim(before)});
  }
  const OutletId whole = before > 0 ? f.concat({past, x}, 2) : x;
  Conv op;
  op.window.kernel = {filter[2]};
  op.window.stride = {1};
  op.window.dilation = {1};
  op.window.padding = {{0, 0}};
  op.groups = filter[0];
  op.has_bias = ctx.given("bias");
  std::vector<OutletId> inputs{whole, w};
  if (op.has_bias) inputs.push_back(f.arg("bias"));
  OutletId out = f.add(std::make_shared<Conv>(op), std::move(inputs));
  if (silu) out = f.unary(UnaryKind::kSilu, out);
  const Dim frames = f.dim(whole, 2);
  return f.values({out, f.slice(whole, 2, frames - Dim(before), frames)});
}

const OnnxOp kOps[] = {
    {"", 27,
     "fragment CausalConvWithState(input: tensor<?>, weight: tensor<?>, bias: tensor<?> = false, "
     "past_state: tensor<?> = false, activation: string = 'none') "
     "-> (output: tensor<?>, present_state: tensor<?>);",
     causal_conv},
};

}  // namespace

extern const OnnxRoom causal_conv_onnx;
const OnnxRoom causal_conv_onnx = {"causal_conv", kOps};

}  // namespace rill::ops
