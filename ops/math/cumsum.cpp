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
  return Facts{in[0].without_value()};
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
  lowering.step(kCumSum, args, {x}, std::move(writes));
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
  auto op = std::make_shared<CumSum>(*this);
  op->streaming = true;
  op->skip = std::max<int64_t>(stream.delay, 0);
  // A sum without its own frame is the one with it, of a frame before; the first one is zero.
  if (exclusive) {
    op->exclusive = false;
    --stream.delay;
  }
  RILL_ASSIGN(const OutletId out, b.add1("", std::move(op), {wire}));
  b.set(0, out, stream);
  return {};
}

Status CumSum::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  if (streaming) {
    ctx.need_registry("tract_pulse");
    ctx.assign(str_cat("tract_pulse_cumsum(", x, ", axis = ", axis, ", exclusive = ", exclusive,
                       ", skip = ", skip, ")"));
    return {};
  }
  ctx.need_registry("tract_core");
  ctx.assign(str_cat("tract_core_cumsum(", x, ", axis = ", axis, ", exclusive = ", exclusive,
                     ", reverse = ", reverse, ")"));
  return {};
}

namespace {

Result<std::shared_ptr<CumSum>> op_of(LoadCtx& ctx, OutletId x) {
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(x).rank()));
  auto op = std::make_shared<CumSum>(axis);
  RILL_ASSIGN(op->exclusive, ctx.boolean("exclusive"));
  return op;
}

Result<Value> load_cumsum(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::shared_ptr<CumSum> op, op_of(ctx, x));
  RILL_ASSIGN(op->reverse, ctx.boolean("reverse"));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::move(op), {x}));
  return Value(out);
}

Result<Value> load_pulsed(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::shared_ptr<CumSum> op, op_of(ctx, x));
  RILL_ASSIGN(op->skip, ctx.integer("skip"));
  op->streaming = true;
  RILL_ASSIGN(const OutletId out, ctx.add1(std::move(op), {x}));
  return Value(out);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_cumsum(input: tensor<scalar>, axis: integer, exclusive: logical = false,"
     " reverse: logical = false) -> (output: tensor<scalar>);",
     load_cumsum},
    {"tract_pulse",
     "fragment tract_pulse_cumsum(input: tensor<scalar>, axis: integer,"
     " exclusive: logical = false, skip: integer = 0) -> (output: tensor<scalar>);",
     load_pulsed},
};

constexpr OpClass kClasses[] = {op_class<CumSum>("CumSum")};

}  // namespace

extern const OpRoom cumsum_room;
const OpRoom cumsum_room = {"cumsum", kOps, kClasses};

}  // namespace rill::ops
