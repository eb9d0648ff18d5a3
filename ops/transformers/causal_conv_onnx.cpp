// Reads ONNX's CausalConvWithState.

#include "ops/math/formula.h"
#include "ops/nn/conv.h"

namespace rill::ops {
namespace {

/// The layout of the node's inputs, and the dilation.
struct Layout {
  bool channels_last = false;
  int64_t dilation = 1;
};

Result<Layout> layout_of(OnnxCtx& ctx) {
  Layout layout;
  if (!ctx.has("dilation")) return layout;
  RILL_ASSIGN(layout.channels_last, ctx.boolean("channels_last"));
  RILL_ASSIGN(layout.dilation, ctx.integer("dilation"));
  RILL_CHECK(layout.dilation > 0 && layout.dilation < (int64_t{1} << 31),
             "attribute \"dilation\" is ", layout.dilation);
  RILL_ASSIGN(const int64_t axes, ctx.integer("ndim"));
  if (axes != 1) return fail(Code::kUnsupported, "attribute \"ndim\" is ", axes, ": expected 1");
  return layout;
}

/// Read a depthwise convolution over the last frames of the previous call and the new frames.
Result<Value> causal_conv(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const Layout layout, layout_of(ctx));
  const auto swapped = [&](OutletId wire) {
    return layout.channels_last ? f.transpose(wire, {0, 2, 1}) : wire;
  };
  const OutletId x = swapped(f.arg("input"));
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
  const int64_t before = (filter[2] - 1) * layout.dilation;
  OutletId past;
  if (ctx.given("past_state")) {
    past = swapped(f.arg("past_state"));
    RILL_CHECK(f.dim(past, 2) == Dim(before), "past_state ", f.fact(past), ": expected ", before,
               " frames");
  } else {
    past = f.broadcast(f.number(0.0, x), {in.dim(0), in.dim(1), Dim(before)});
  }
  const OutletId whole = before > 0 ? f.concat({past, x}, 2) : x;
  Conv op;
  op.window.kernel = {filter[2]};
  op.window.stride = {1};
  op.window.dilation = {layout.dilation};
  op.window.padding = {{0, 0}};
  op.groups = filter[0];
  op.has_bias = ctx.given("bias");
  std::vector<OutletId> inputs{whole, w};
  if (op.has_bias) inputs.push_back(f.arg("bias"));
  OutletId out = f.add(make_op<Conv>(op), inputs);
  if (silu) out = f.unary(UnaryKind::kSilu, out);
  const Dim frames = f.dim(whole, 2);
  return f.values({swapped(out), swapped(f.slice(whole, 2, frames - Dim(before), frames))});
}

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment CausalConvWithState(input: tensor<?>, weight: tensor<?>, bias: tensor<?> = false, "
     "past_state: tensor<?> = false, activation: string = 'none', channels_last: logical = false, "
     "dilation: integer = 1, ndim: integer = 1) "
     "-> (output: tensor<?>, present_state: tensor<?>);",
     causal_conv},
    {"", 27,
     "fragment CausalConvWithState(input: tensor<?>, weight: tensor<?>, bias: tensor<?> = false, "
     "past_state: tensor<?> = false, activation: string = 'none') "
     "-> (output: tensor<?>, present_state: tensor<?>);",
     causal_conv},
};

}  // namespace

extern const OnnxModule causal_conv_onnx;
const OnnxModule causal_conv_onnx = {"causal_conv", kOps};

}  // namespace rill::ops
