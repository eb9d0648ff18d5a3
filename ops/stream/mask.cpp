#include "ops/stream/mask.h"

#include <algorithm>
#include <cstring>

#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/typed.h"
#include "ops/stream/mask_step.h"

namespace rill::ops {

void PulseMask::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("begin", begin);
  visitor.field("end", end);
  visitor.field("value", value);
  visitor.field("padding", padding);
  visitor.field("overlap", overlap);
}

Result<std::shared_ptr<PulseMask>> mask_around(const Fact& wire, const StreamFact& stream,
                                               bool begin, bool end, const Tensor& value) {
  begin = begin && stream.delay > 0;
  if (!begin && !end) return std::shared_ptr<PulseMask>();
  auto op = draft_op<PulseMask>();
  op->axis = stream.axis;
  op->begin = begin ? stream.delay : 0;
  op->end = end ? stream.dim + Dim(stream.delay) : Dim(INT64_MAX);
  RILL_ASSIGN(Tensor scalar, as_type_of(value, wire));
  op->value = std::make_shared<const Tensor>(std::move(scalar));
  return op;
}

Result<Facts> PulseMask::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  bool fits = value && (value->volume() == 1 || value->rank() == in[0].rank());
  for (int i = 0; fits && value->rank() > 0 && i < value->rank(); ++i) {
    fits = value->extent(i) == 1 || (i != axis && Dim(value->extent(i)) == in[0].dim(i));
  }
  RILL_CHECK(fits, "value: expected one number, or one frame of ", in[0]);
  const auto frames = in[0].dim(static_cast<int>(axis)).to_int();
  RILL_CHECK(overlap >= 0 && overlap <= frames.value_or(kMostFrames), "overlap ", overlap, " of ",
             in[0]);
  RILL_TRY(expect_type_of("value", *value, in[0]));
  return one_fact(in[0].without_value());
}

Status PulseMask::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a mask counts frames: it runs in a prepared plan only");
}

Status PulseMask::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  lowering.copy(from, to);
  RILL_ASSIGN(const int64_t first, begin.as_int());
  const PlacedView constant = lowering.constant(*value);
  MaskArgs args{constant,
                to,
                static_cast<int>(axis),
                from.extent(static_cast<int>(axis)) - overlap,
                overlap,
                first,
                frames_so_far(lowering, end)};
  lowering.step(kMaskStream, args, {constant}, {to});
  return {};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  PulseMask op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  RILL_TRY(ctx.all_fields(op));
  if (!op.value) return fail(Code::kArg, "value: expected a constant");
  RILL_ASSIGN(Tensor as_input, as_type_of(*op.value, ctx.fact(input)));
  if (as_input.volume() == 1) {
    RILL_ASSIGN(as_input, as_input.reshaped({}));
  }
  op.value = std::make_shared<const Tensor>(std::move(as_input));
  return ctx.add_value(make_op<PulseMask>(op), {input});
}

const NnefOp kOps[] = {{"tract_pulse",
                        "fragment tract_pulse_mask<?>(input: tensor<?>, axis: integer, "
                        "begin: integer, end: integer, value: scalar, padding: logical = false, "
                        "overlap: integer = 0) -> (output: tensor<?>);",
                        load}};

}  // namespace

// tract does not know these arguments, so write them only if they matter.
Status PulseMask::save(SaveCtx& ctx) const {
  return ctx.assign_declared(kOps[0], {{"padding", padding ? nnef_text(true) : ""},
                                       {"overlap", overlap > 0 ? nnef_text(overlap) : ""}});
}

extern const OpModule mask_module;
const OpModule mask_module = {"mask", kOps};

}  // namespace rill::ops
