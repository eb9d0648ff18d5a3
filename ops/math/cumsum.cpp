#include "ops/math/cumsum.h"

#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/not_defined.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum_step.h"
#include "ops/stream/latch.h"

namespace rill::ops {
Result<Facts> CumSum::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  if (!is_number(in[0].dtype)) {
    return not_defined_for(in[0]);
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

Course CumSum::course() const {
  return {.form = Course::Form::kSummed,
          .axes = {&axis, 1},
          .exclusive = exclusive,
          .reverse = reverse};
}

std::vector<AxisTrack> CumSum::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis) tracks.push_back({{i}, {i}});
  }
  return tracks;
}

namespace {

/// Return whether a sum is accumulated in the type of its terms.
bool keeps_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI64;
}

/// Sum the prefix frames separately, and continue from their last sum: add it to the first frame of
/// the rest.
Status sum_after_prefix(PulseBuilder& b, const CumSum& op, const PulseBuilder::Prefix& prefix) {
  const int64_t axis = op.axis;
  StreamFact stream = prefix.stream;
  RILL_ASSIGN(const int64_t pulse, b.pulse_of(prefix.rest, stream.axis));
  RILL_ASSIGN(const OutletId sums, b.add1("first", make_op<CumSum>(axis), {prefix.frames}));
  RILL_ASSIGN(
      const OutletId last,
      b.add1("last", make_op<Slice>(axis, Dim(prefix.count - 1), Dim(prefix.count)), {sums}));
  auto latch = draft_op<PulseLatch>();
  latch->axis = axis;
  latch->delay = stream.delay;
  RILL_ASSIGN(const OutletId next, b.add1("next", std::move(latch), {prefix.rest}));
  RILL_ASSIGN(const OutletId sum, b.add1("sum", make_op<Binary>(BinaryKind::kAdd), {last, next}));
  auto splice = draft_op<PulseSplice>();
  splice->axis = axis;
  splice->has_prefix = true;
  splice->begin = stream.delay;
  RILL_ASSIGN(const OutletId x, b.add1("begun", std::move(splice), {prefix.rest, sum}));
  b.settles_at(stream.delay + 1, pulse);
  auto rest = draft_op<CumSum>(op);
  rest->streaming = true;
  rest->skip = stream.delay;
  RILL_ASSIGN(const OutletId out, b.add1(std::move(rest), {x}));
  stream.delay -= prefix.count;
  stream.dim = b.out(0).dim(stream.axis);
  return b.give(0, out, {PulsedOutput::Streams{stream, sums}});
}

/// If all terms are equal, record the sum between scores and values as a function of positions.
Status count_positions(PulseBuilder& b, const CumSum& op, Square at) {
  const int on = static_cast<int>(op.axis);
  const TensorPtr& each = b.fact(b.wire(0)).konst;
  const Fact& out = b.out(0);
  bool flat = each && (on == at.row || on == at.column) && !op.reverse;
  for (int i = 0; i < out.rank(); ++i) flat &= i == on || out.dim(i) == Dim(1);
  const auto step = flat ? element_as_int(*each, 0) : Result<int64_t>(fail(Code::kPulse, ""));
  const auto value = flat ? element_as_double(*each, 0) : Result<double>(0.0);
  if (!step.ok() || !value.ok() || static_cast<double>(*step) != *value) {
    return b.refuse("Count positions with a range",
                    "between scores and values, it sums over the streaming axis");
  }
  RILL_ASSIGN(OutletId count, b.count(on, Dim(op.exclusive ? 0 : *step), *step));
  std::vector<Dim> shape(static_cast<size_t>(out.rank()), Dim(1));
  shape[static_cast<size_t>(on)] = b.fact(count).dim(0);
  RILL_ASSIGN(count, b.add1(make_op<Reshape>(0, 1, std::move(shape)), {count}));
  RILL_ASSIGN(count, b.add1(make_op<Cast>(out.dtype), {count}));
  b.set(0, count, b.stream(0));
  return {};
}

}  // namespace

Status CumSum::pulsify(PulseBuilder& b) const {
  if (ScoresBuilder* scores = b.scores()) return count_positions(b, *this, scores->square());
  const auto found = b.stream(0);
  if (!found || found->axis != axis) return Op::pulsify(b);
  if (reverse) {
    return b.refuse("Sum forwards", "sums backwards along streaming axis ", axis,
                    ": every output needs all that follows");
  }
  const bool zeros = found->has_prefix() && !found->pad_value;
  if (!exclusive && !zeros && keeps_type(b.in(0).dtype)) {
    RILL_ASSIGN(const auto prefix, b.prefix_of(0));
    if (prefix) return sum_after_prefix(b, *this, *prefix);
  }
  StreamFact stream = *found;
  OutletId wire = b.wire(0);
  // A virtual prefix of zeros sums to zeros, and stays virtual.
  if (stream.has_prefix() && stream.pad_value) {
    RILL_ASSIGN(wire, b.materialise(wire, &stream));
  }
  auto op = draft_op<CumSum>(*this);
  op->streaming = true;
  op->skip = std::max<int64_t>(stream.delay, 0);
  // An exclusive sum is the inclusive sum one frame earlier; its first frame is zero.
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

extern const OpModule cumsum_module;
const OpModule cumsum_module = {"cumsum", kOps, kClasses};

}  // namespace rill::ops
