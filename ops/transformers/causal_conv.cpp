// A step of a causal depthwise convolution, with the last frames as its state. The reader makes a
// concatenation, a convolution and a slice.
// Source: tract, `tract_transformers_causal_conv1d_update`; Hugging Face transformers,
// `torch_causal_conv1d_update`.

#include <array>

#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/math/wiring.h"
#include "ops/nn/conv.h"

namespace rill::ops {
namespace {

Result<Value> load(LoadCtx& ctx) {
  Wiring w(ctx);
  OutletId x = w.arg("input");
  const OutletId weight = w.arg("weight");
  OutletId state = w.arg("initial_state");
  if (!w.ok()) return w.take_status();
  const Fact given = w.fact(x);
  const Fact before = w.fact(state);
  // One frame of one stream may have any shape: its elements are the channels, in order.
  const bool one_frame = (given.rank() != 3 || before.rank() != 3) && w.rank(weight) >= 1 &&
                         volume(given.shape).is_const();
  if (one_frame) {
    const Dim channels = volume(given.shape);
    const Dim taps = w.fact(weight).shape.back();
    RILL_CHECK(volume(before.shape) == channels * taps, "input ", given, ", state ", before,
               ": expected ", taps, " frames of ", channels, " channels");
    x = w.reshape(x, {Dim(1), channels, Dim(1)});
    state = w.reshape(state, {Dim(1), channels, taps});
    if (!w.ok()) return w.take_status();
  }
  const Fact in = w.fact(x);
  const Fact kept = w.fact(state);
  RILL_CHECK(in.rank() == 3 && kept.rank() == 3 && w.rank(weight) >= 1, "input ", in, ", state ",
             kept, ": expected [batch, channels, frames]");
  const bool typed = in.dtype == DType::kF32 || in.dtype == DType::kF16;
  if (!typed || w.dtype(weight) != in.dtype || kept.dtype != in.dtype) {
    return fail(Code::kDType, "input ", in, ", weight ", w.fact(weight), ", state ", kept,
                ": expected all f32 or all f16");
  }
  RILL_ASSIGN(const int64_t channels, in.dim(1).as_int());
  RILL_ASSIGN(const int64_t taps, w.fact(weight).shape.back().as_int());
  RILL_CHECK(taps >= 1 && volume(w.fact(weight).shape) == Dim(channels) * Dim(taps), "weight ",
             w.fact(weight), ": expected [", channels, ", taps]");
  RILL_CHECK(kept.dim(1) == in.dim(1) && kept.dim(2) == Dim(taps), "state ", kept, ": expected ",
             taps, " frames of ", channels, " channels");
  const OutletId all = w.concat({w.cast(state, DType::kF32), w.cast(x, DType::kF32)}, 2);
  const OutletId filter =
      w.reshape(w.cast(weight, DType::kF32), {Dim(channels), Dim(1), Dim(taps)});
  Conv conv;
  conv.window.kernel = {taps};
  conv.window.stride = {1};
  conv.window.dilation = {1};
  conv.window.padding = {{0, 0}};
  conv.groups = channels;
  conv.has_bias = false;
  // The oldest frame of the state has left the window of the first output.
  const OutletId window = w.slice(all, 2, Dim(1), in.dim(2) + Dim(taps));
  const OutletId sums = w.add(make_op<Conv>(conv), {window, filter});
  const OutletId last = w.slice(all, 2, in.dim(2), in.dim(2) + Dim(taps));
  std::array<OutletId, 2> outs = {w.cast(w.unary(UnaryKind::kSilu, sums), in.dtype),
                                  w.cast(last, in.dtype)};
  if (one_frame) outs = {w.reshape(outs[0], given.shape), w.reshape(outs[1], before.shape)};
  return w.done(outs);
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_causal_conv1d_update(input: tensor<scalar>,"
     " weight: tensor<scalar>, initial_state: tensor<scalar>)"
     " -> (output: tensor<scalar>, final_state: tensor<scalar>);",
     load},
};

}  // namespace

extern const OpModule causal_conv_module;
const OpModule causal_conv_module = {"causal_conv", kOps};

}  // namespace rill::ops
