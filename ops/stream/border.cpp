#include "ops/stream/border.h"

#include <algorithm>

#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/stream/border_step.h"
#include "ops/stream/delay.h"

namespace rill::ops {

void PulseBorder::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("overlap", overlap);
  visitor.field("shown", shown);
  visitor.field("delay", delay);
  visitor.field("out_delay", out_delay);
  visitor.field("before", before);
  visitor.field("reflect", reflect);
  visitor.field("length", length);
}

Result<Facts> PulseBorder::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(overlap >= 0 && shown >= 0 && before >= 0 && overlap < kMostFrames &&
                 shown < kMostFrames && before < kMostFrames,
             "overlap ", overlap, ", shown ", shown, ", before ", before,
             ": expected small non-negative counts");
  RILL_CHECK(delay > -kMostFrames && delay < kMostFrames && out_delay > -kMostFrames &&
                 out_delay < kMostFrames,
             "delays ", delay, " and ", out_delay, " are out of range");
  if (!is_plain(in[0].dtype)) return fail(Code::kDType, "no borders of ", in[0]);
  Fact out = in[0].without_value();
  Dim& frames = out.shape[static_cast<size_t>(axis)];
  frames += Dim(shown - overlap);
  const auto number = frames.to_int();
  RILL_CHECK(!number || *number >= shown, "overlap ", overlap, " of ", in[0]);
  return one_fact(std::move(out));
}

Status PulseBorder::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a border counts frames: it runs in a prepared plan only");
}

Status PulseBorder::lower(Lowering& lowering) const {
  const Operand& from = lowering.in(0);
  const Operand to = lowering.make_out(0, Lowering::physical_order(from));
  if (to.volume() == 0 || from.extent(static_cast<int>(axis)) == 0) return {};
  const int on = static_cast<int>(axis);
  const BorderStreamArgs args{
      reflect,   before, shown, overlap, delay, out_delay, from, to, on, from.extent(on) - overlap,
      frames_so_far(lowering, length)};
  lowering.step(kBorderStream, args, {from}, {to});
  return {};
}

/// Move edge padding upstream of ops that only move frames, so that downstream ops see the same
/// inputs as in the whole graph.
Status PulseBorder::declutter(Rewrite& rewrite) const {
  const Node& source = rewrite.producer(0);
  if (rewrite.input(0).slot != 0) return {};
  const int inner_axis = axis_upstream(rewrite.old_graph(), source, static_cast<int>(axis));
  if (inner_axis < 0) return {};
  PulseBorder moved = *this;
  moved.axis = inner_axis;
  RILL_ASSIGN(const OutletId bordered,
              rewrite.wire1(rewrite.node().name, make_op<PulseBorder>(moved),
                            {rewrite.mapped(source.inputs[0])}));
  return rewrite.replace_by(source.op, {bordered}, source.name);
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  PulseBorder op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  RILL_TRY(ctx.fields(op));
  RILL_ASSIGN(const std::string border, ctx.text("border"));
  if (border != "replicated" && border != "reflect") {
    return fail(Code::kArg, "border \"", border, "\": expected replicated or reflect");
  }
  op.reflect = border == "reflect";
  return ctx.add_value(make_op<PulseBorder>(op), {input});
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_border<?>(input: tensor<?>, axis: integer, overlap: integer, "
     "shown: integer, delay: integer, out_delay: integer, before: integer, border: string, "
     "length: integer) -> (output: tensor<?>);",
     load}};

}  // namespace

Status PulseBorder::save(SaveCtx& ctx) const {
  const std::string_view border = reflect ? "reflect" : "replicated";
  return ctx.assign_declared(kOps[0], {{"border", nnef_text(border)}});
}

extern const OpModule border_module;
const OpModule border_module = {"border", kOps};

}  // namespace rill::ops
