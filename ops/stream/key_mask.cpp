#include "ops/stream/key_mask.h"

#include <algorithm>
#include <cmath>

#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/key_mask_step.h"

namespace rill::ops {

void PulseKeyMask::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("pulse", pulse);
  visitor.field("delay", delay);
  visitor.field("length", length);
  if (weights) visitor.field("weights", weights);
}

Result<Facts> PulseKeyMask::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(pulse >= 0 && pulse < kMostFrames && delay > -kMostFrames && delay < kMostFrames,
             "pulse ", pulse, ", delay ", delay, " are out of range");
  if (!is_float(in[0].dtype)) return fail(Code::kDType, "scores ", in[0], ": expected floats");
  return one_fact(in[0].without_value());
}

Status PulseKeyMask::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a mask counts frames: it runs in a prepared plan only");
}

Status PulseKeyMask::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  lowering.copy(from, to);
  RILL_ASSIGN(Tensor value, cast(Tensor::scalar(weights ? 0.0F : -INFINITY), from.dtype));
  const PlacedView constant = lowering.constant(value);
  KeyMaskArgs args{pulse,
                   delay,
                   to,
                   static_cast<int>(axis),
                   constant,
                   frames_so_far(lowering, length)};
  if (to.volume() > 0) lowering.step(kKeyMask, std::move(args), {constant}, {to});
  return {};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  PulseKeyMask op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  RILL_TRY(ctx.fields(op));
  RILL_ASSIGN(op.weights, ctx.boolean("weights"));
  return ctx.add_value(make_op<PulseKeyMask>(op), {input});
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_key_mask(input: tensor<scalar>, axis: integer, "
     "pulse: integer, delay: integer, length: integer, weights: logical = false) -> "
     "(output: tensor<scalar>);",
     load}};

}  // namespace

Status PulseKeyMask::save(SaveCtx& ctx) const {
  return ctx.assign_declared(kOps[0], {{"weights", weights ? nnef_text(true) : ""}});
}

extern const OpModule key_mask_module;
const OpModule key_mask_module = {"key_mask", kOps};

}  // namespace rill::ops
