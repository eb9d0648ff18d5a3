#include "ops/math/cumsum.h"

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/cumsum_step.h"

namespace rill::ops {
Result<Facts> CumSum::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  if (!is_number(in[0].dtype)) {
    return fail(Code::kDType, "not defined for ", dtype_name(in[0].dtype), ": input ", in[0]);
  }
  RILL_CHECK(skip >= 0, "skip ", skip, ": expected 0 or more");
  return one_fact(in[0].without_value());
}

Status CumSum::eval(EvalCtx& ctx) const {
  add_up({static_cast<int>(axis), exclusive, reverse, skip}, ctx.in[0], ctx.out[0],
         static_cast<std::byte*>(ctx.state));
  return {};
}

Status CumSum::lower(Lowering& lowering) const {
  CumSumArgs args;
  args.how = {static_cast<int>(axis), exclusive, reverse, skip};
  const Operand& x = lowering.in(0);
  const Operand y = lowering.make_out(0);
  args.x = x;
  args.y = y;
  args.has_state = streaming;
  std::vector<Touched> writes = {y};
  if (streaming) {
    args.state = lowering.state(sum_bytes(args.how, args.x));
    writes.emplace_back(args.state);
  }
  lowering.step(kCumSum, args, {x}, writes);
  return {};
}

std::vector<AxisTrack> CumSum::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis) tracks.push_back({{i}, {i}});
  }
  return tracks;
}

Status CumSum::pulsify(PulseBuilder& b) const {
  const auto found = b.stream(0);
  if (!found || found->axis != axis) return Op::pulsify(b);
  if (reverse) {
    return b.refuse("Sum forwards", "sums backwards along streaming axis ", axis,
                    ": every output needs all that follows");
  }
  StreamFact stream = *found;
  OutletId wire = b.wire(0);
  // Virtual first frames of zeros sum to zeros, and stay virtual.
  if (stream.has_prefix() && stream.fill) {
    RILL_ASSIGN(wire, b.materialise(wire, &stream));
  }
  auto op = draft_op<CumSum>(*this);
  op->streaming = true;
  op->skip = std::max<int64_t>(stream.delay, 0);
  // A sum without its own frame is the one with it, of a frame before; the first one is zero.
  if (exclusive) {
    op->exclusive = false;
    --stream.delay;
  }
  RILL_ASSIGN(const OutletId out, b.add1(std::move(op), {wire}));
  b.set(0, out, stream);
  return {};
}

namespace {

Result<Value> load_pulsed(LoadCtx& ctx) {
  auto op = draft_op<CumSum>();
  op->streaming = true;
  int64_t* axis = &op->axis;
  return load_on_input(ctx, std::move(op), axis);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_cumsum(input: tensor<scalar>, axis: integer, exclusive: logical = false,"
     " reverse: logical = false) -> (output: tensor<scalar>);",
     load_on_input<CumSum>},
    {"tract_pulse",
     "fragment tract_pulse_cumsum(input: tensor<scalar>, axis: integer,"
     " exclusive: logical = false, skip: integer = 0) -> (output: tensor<scalar>);",
     load_pulsed},
};

constexpr OpClass kClasses[] = {op_class<CumSum>("CumSum")};

}  // namespace

Status CumSum::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[streaming ? 1 : 0]); }

extern const OpRoom cumsum_room;
const OpRoom cumsum_room = {"cumsum", kOps, kClasses};

}  // namespace rill::ops
