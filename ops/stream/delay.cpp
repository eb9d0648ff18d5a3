#include "ops/stream/delay.h"

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "core/graph/typed.h"

namespace rill::ops {

void Delay::fields(FieldVisitor& visitor) {
  visitor.field("axis", axis);
  visitor.field("delay", delay);
  visitor.field("overlap", overlap);
  visitor.field("reserve", reserve);
  visitor.field("fill", pad_value);
  visitor.field("padding", padding);
}

Result<Facts> Delay::infer(FactSpan in) const {
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(
      delay >= 0 && overlap >= 0 && reserve >= 0 && delay < (int64_t{1} << 40) &&
          overlap < (int64_t{1} << 40) && reserve < (int64_t{1} << 40),
      "delay ", delay, " and overlap ", overlap, ": expected small non-negative counts");
  if (!is_plain(in[0].dtype) && in[0].dtype != DType::kDim) {
    return fail(Code::kDType, "cannot delay ", dtype_name(in[0].dtype));
  }
  if (pad_value) RILL_TRY(expect_type_of("fill", *pad_value, in[0]));
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(axis)] += Dim(overlap);
  return one_fact(std::move(out));
}

Status Delay::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a delay has memory: it runs in a prepared plan only");
}

std::optional<HistoryNeed> Delay::history(int) const {
  if (delay + overlap == 0) return std::nullopt;
  return HistoryNeed{static_cast<int>(axis), delay + overlap + reserve, pad_value};
}

Status Delay::lower(Lowering& lowering) const {
  const auto need = history(0);
  if (!need) {
    lowering.set_out(0, lowering.in(0));
    return {};
  }
  const int64_t frames = lowering.in(0).extent(static_cast<int>(axis)) + overlap;
  Operand window;
  if (!lowering.window_on_history(0, *need, delay + overlap, frames, &window)) {
    window = lowering.own_ring(0, *need, delay + overlap, frames);
  }
  lowering.set_out(0, window);
  return {};
}

int axis_upstream(const Graph& graph, const Node& node, int axis) {
  if (node.op->traits().moves == Moves::kNo) return -1;
  for (const AxisTrack& track : node.op->axes(graph.facts_of(node.inputs), node.outputs)) {
    if (track.out[0] == axis) return track.in[0];
  }
  return -1;
}

/// Move a delay with a history of zeros upstream of ops that only move frames, to the wire that
/// owns its memory: there, equal delays merge.
Status Delay::declutter(Rewrite& rewrite) const {
  if (delay == 0 && overlap == 0) return rewrite.bypass(rewrite.input(0));
  if (pad_value && pad_value->rank() != 0) return {};
  const Node& before = rewrite.producer(0);
  if (rewrite.input(0).slot != 0) return {};
  const int inner_axis = axis_upstream(rewrite.old_graph(), before, static_cast<int>(axis));
  if (inner_axis < 0) return {};
  // If the op pads other axes with zeros, a history of zeros stays equal to the padded history.
  const Moves moves = before.op->traits().moves;
  if (moves == Moves::kAmongOthers || (moves == Moves::kAmongZeros && pad_value)) return {};
  Delay moved = *this;
  moved.axis = inner_axis;
  RILL_ASSIGN(const OutletId delayed, rewrite.wire1(rewrite.node().name, make_op<Delay>(moved),
                                                    {rewrite.mapped(before.inputs[0])}));
  return rewrite.replace_by(before.op, {delayed}, before.name);
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  Delay op;
  RILL_ASSIGN(const OutletId input, ctx.wire("input"));
  RILL_TRY(ctx.fields(op));
  if (op.pad_value) {
    RILL_ASSIGN(Tensor cast_pad_value, as_type_of(*op.pad_value, ctx.fact(input)));
    op.pad_value = std::make_shared<const Tensor>(std::move(cast_pad_value));
  }
  return ctx.add_value(make_op<Delay>(op), {input});
}

const NnefOp kOps[] = {{"tract_pulse",
                        "fragment tract_pulse_delay<?>(input: tensor<?>, axis: integer, "
                        "delay: integer, overlap: integer, zero_pad: logical = false, "
                        "fill: tensor<?> = 0.0, reserve: integer = 0, padding: integer = 0) "
                        "-> (output: tensor<?>);",
                        load}};

}  // namespace

// tract does not know the last two arguments, so write them only if they are not 0.
Status Delay::save(SaveCtx& ctx) const {
  return ctx.assign_declared(kOps[0], {{"zero_pad", ""},
                                       {"reserve", reserve != 0 ? nnef_text(reserve) : ""},
                                       {"padding", padding != 0 ? nnef_text(padding) : ""}});
}

extern const OpModule delay_module;
const OpModule delay_module = {"delay", kOps};

}  // namespace rill::ops
