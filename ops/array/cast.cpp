#include "ops/array/cast.h"

#include <algorithm>

#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "core/graph/size_trace.h"
#include "kernels/half/half.h"
#include "kernels/int8/int8.h"
#include "ops/array/cast_step.h"
#include "ops/array/common.h"
#include "ops/array/rounding.h"
#include "ops/array/spread.h"
#include "ops/kernel_fields.h"
#include "ops/op_table.h"

namespace rill::ops {

void Cast::fields(FieldVisitor& visitor) {
  visitor.field("to", to);
  // Visited only if true, so that the fingerprints of models without these flags do not change.
  if (whole) visitor.field("whole", whole);
  if (at_end) visitor.field("at_end", at_end);
  if (!is_quantised(to)) return;
  quant_fields(visitor, q);
}

Result<Facts> Cast::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  const bool objects = in[0].dtype == DType::kString || to == DType::kString ||
                       in[0].dtype == DType::kBlob || to == DType::kBlob;
  if (objects && in[0].dtype != to) {
    return fail(Code::kDType, "no cast from ", in[0], " to ", dtype_name(to));
  }
  return one_fact({to, is_quantised(to) ? q : QParams{}, in[0].shape, {}});
}

Status Cast::eval(EvalCtx& ctx) const { return cast_into(ctx.in[0], ctx.out[0]); }

namespace {

/// Return whether a cast between integers and quantised numbers keeps the stored integers.
bool keeps_bytes(DType from, DType to) {
  const auto pair = [&](DType plain, DType quantised) {
    return (from == plain && to == quantised) || (from == quantised && to == plain);
  };
  return pair(DType::kU8, DType::kQU8) || pair(DType::kI8, DType::kQI8) ||
         pair(DType::kI32, DType::kQI32);
}

/// Return the real number for each byte, as `eval` computes it.
Result<Tensor> values_of_bytes(DType type, QParams q) {
  RILL_ASSIGN(Tensor bytes, Tensor::zeros(type, {256}, q));
  for (int i = 0; i < 256; ++i) bytes.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i);
  return cast(bytes, DType::kF32);
}

}  // namespace

Status Cast::lower(Lowering& lowering) const {
  const Operand& in = lowering.in(0);
  if (keeps_bytes(in.dtype, to) && lowering.history(0) == nullptr) {
    Operand out = in;
    out.konst = nullptr;
    out.dtype = to;
    out.q = is_quantised(to) ? q : QParams{};
    lowering.set_out(0, std::move(out));
    return {};
  }
  const bool upcasts_or_downcasts = (in.dtype == DType::kF16 && to == DType::kF32) ||
                                 (in.dtype == DType::kF32 && to == DType::kF16);
  const bool rounds =
      in.dtype == DType::kF32 &&
      (is_quantised_byte(to) || (whole && is_int(to) && dtype_size(to) <= 4 && to != DType::kU32));
  const bool looks_up = is_byte(in.dtype) && to == DType::kF32;
  // Frames of a wire with a history are not contiguous.
  if ((!upcasts_or_downcasts && !rounds && !looks_up) || lowering.history(0) != nullptr) {
    if (!is_plain(in.dtype)) return Op::lower(lowering);
    const Operand& from = lowering.in(0);
    const bool has_history = lowering.history(0) != nullptr;
    const std::vector<int> order =
        has_history ? std::vector<int>() : Lowering::physical_order(from);
    const Operand out = lowering.make_out(0, order);
    lowering.step(kCast, {from, out}, {from}, {out});
    return {};
  }
  const std::vector<int> order = Lowering::physical_order(in);
  const Operand x = lowering.ordered(in, order);
  const Operand y = lowering.make_out(0, order);
  const int64_t count = y.volume();
  if (count == 0) return {};
  if (upcasts_or_downcasts) {
    const HalfCastArgs args{&kernels::half_casts(), count, to == DType::kF32, x.ref, y.ref};
    lowering.step(kHalfCast, args, {x}, {y});
    return {};
  }
  ByteCastArgs args;
  args.x = args.table = x.ref;
  args.y = y.ref;
  args.rounding.n = count;
  if (rounds) {
    args.quantise = kernels::quantise();
    args.rounding.rounding = rounding_within(to);
    if (is_quantised(to)) {
      args.rounding.rounding.div = static_cast<double>(q.scale);
      args.rounding.rounding.before = static_cast<double>(q.zero_point);
    }
    args.rounding.rounding.narrow = true;
    args.rounding.y_bytes = static_cast<int>(dtype_size(to));
  } else {
    RILL_ASSIGN(const Tensor values, values_of_bytes(in.dtype, in.q));
    auto [ref, table] = lowering.constant<float>(256);
    std::copy_n(values.data<float>(), 256, table);
    args.table = ref;
  }
  std::vector<Touched> reads = {x};
  if (looks_up) reads.emplace_back(args.table);
  lowering.step(kByteCast, args, reads, {y});
  return {};
}

OpTraits Cast::traits() const {
  const bool narrows = is_reduced_float(to);
  const Precision wide = is_float(to) && !narrows ? Precision::kMoves : Precision::kRounds;
  return {.per_element = true, .precision = at_end ? Precision::kRoundsAtEnd : wide};
}

Course Cast::course() const {
  const bool orders = to != DType::kBool;
  return {.form = Course::Form::kPerElement,
          .function = Course::Function::kCast,
          .monotone_from = orders ? std::optional(-Course::kEndless) : std::nullopt};
}

std::vector<AxisTrack> Cast::axes(FactSpan in, FactSpan out) const {
  return elementwise_axes(in, out);
}

// A cast to integers rounds towards zero; a cast to bool is true for nonzero numbers. Nothing for
// types of one or two bytes, which would wrap.
std::optional<SizeRatio> Cast::size(const SizeTrace& trace) const {
  const auto from = trace.in(0);
  if (!from) return std::nullopt;
  if (to == DType::kBool) return size_of(Dim(1) - eq(from->number, Dim(0)));
  if (to != DType::kDim && dtype_size(to) < 4) return std::nullopt;
  if (from->is_whole() || to == DType::kF32 || to == DType::kF64) return from;
  if (is_float(to) || !trace.scope().proves_ge(from->number, Dim(0))) return std::nullopt;
  return size_of(floor_div(from->number, from->divisor));
}

std::optional<OutletId> cast_from(const Node& node) {
  return node.op->as<Cast>() ? std::optional(node.inputs[0]) : std::nullopt;
}

OpPtr cast_at_end(DType to) {
  auto op = draft_op<Cast>(to);
  op->at_end = true;
  return op;
}

Status mark_whole(Rewrite& rewrite) {
  if (!cast_from(rewrite.node())) return {};
  auto marked = draft_op<Cast>(static_cast<const Cast&>(*rewrite.node().op));
  if (marked->whole) return {};
  marked->whole = true;
  return rewrite.replace_by(std::move(marked), {rewrite.mapped(rewrite.input(0))});
}

Status Cast::declutter(Rewrite& rewrite) const {
  const Fact& in = rewrite.in(0);
  if (in.dtype == to && in.q == rewrite.out().q) return rewrite.bypass(rewrite.input(0));
  // f64 holds every integer of up to 32 bits.
  const bool is_held = in.dtype == DType::kF64 && is_int(to) && dtype_size(to) <= 4;
  const auto before = is_held ? cast_from(rewrite.producer(0)) : std::nullopt;
  if (before && rewrite.old_graph().fact(*before).dtype == to) return rewrite.bypass(*before);
  return spread_constant(rewrite);
}

Status Cast::fuse(Rewrite& rewrite) const { return fuse_by_modules(*this, rewrite); }

Status Cast::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  ctx.need_registry("tract_core");
  // The scale and the zero point are in graph.quant.
  const DType stored = to == DType::kQU8    ? DType::kU8
                       : to == DType::kQI8  ? DType::kI8
                       : to == DType::kQI32 ? DType::kI32
                                            : to;
  ctx.assign(str_cat("tract_core_cast(", x, ", to = ", nnef_text(dtype_lower_name(stored)), ")"));
  return {};
}

Status fuse_as_f32(const Op& op, Rewrite& rewrite) {
  const Node& node = rewrite.node();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (rewrite.in(static_cast<int>(i)).dtype != DType::kF16) return {};
  }
  std::vector<OutletId> inputs = rewrite.mapped_inputs(node);
  for (OutletId& input : inputs) {
    RILL_ASSIGN(input, rewrite.wire1(node.name + "_wide", make_op<Cast>(DType::kF32), {input}));
  }
  RILL_ASSIGN(const OutletId sums, rewrite.wire1(node.name + "_sums", op.clone(), inputs));
  return rewrite.replace_by(make_op<Cast>(DType::kF16), {sums});
}

Result<OutletId> cast_to(LoadCtx& ctx, OutletId wire, DType to, QParams q) {
  const Fact& fact = ctx.fact(wire);
  if (fact.dtype == to && (!is_quantised(to) || fact.q == q)) return wire;
  return ctx.add1(make_op<Cast>(to, q), {wire}, "cast");
}

namespace {

/// Parse constant strings as dims.
Result<Value> dims_of(LoadCtx& ctx, const Tensor& texts) {
  std::vector<Dim> dims;
  for (const std::string& text : texts.values<std::string>()) {
    RILL_ASSIGN(dims.emplace_back(), ctx.to_dim(Value(text)));
  }
  RILL_ASSIGN(Tensor out, Tensor::of<Dim>(DType::kDim, texts.shape(), dims));
  return as_value(ctx.konst(std::move(out)));
}

Result<Value> load_cast(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  const auto quant = ctx.quant();
  if (!ctx.has("to")) {
    if (!quant) {
      return fail(Code::kDType, "no type to cast to: neither `to` nor an entry in graph.quant");
    }
    return ctx.add_value(make_op<Cast>(quant->dtype, quant->q), {x});
  }
  RILL_ASSIGN(const std::string name, ctx.text("to"));
  auto dtype = dtype_from_name(name);
  if (!dtype) return fail(Code::kDType, "no type \"", name, "\"");
  if (const TensorPtr& value = ctx.fact(x).konst;
      dtype == DType::kDim && value && value->dtype() == DType::kString) {
    return dims_of(ctx, *value);
  }
  QParams q;
  if (quant && is_quantised(quant->dtype)) {
    if (dtype_size(quant->dtype) != dtype_size(*dtype)) {
      return fail(Code::kDType, "`to` is \"", name, "\", but graph.quant says ",
                  dtype_name(quant->dtype));
    }
    dtype = quant->dtype;
    q = quant->q;
  }
  return ctx.add_value(make_op<Cast>(*dtype, q), {x});
}

/// Return the shape as a constant of dims, with its symbols.
Result<Value> load_shape_of(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  const std::vector<Dim> shape = ctx.fact(x).shape;
  // A model that reads the shape may count an index from the end: that compares an extent with 0.
  ctx.graph().read_shape(x);
  return as_value(ctx.konst(Tensor::dims(shape)));
}

Result<Value> load_copy(LoadCtx& ctx) { return as_value(ctx.wire("x")); }

constexpr NnefOp kOps[] = {
    {"tract_core", "fragment tract_core_cast(input: tensor<?>, to: string) -> (output: tensor<?>);",
     load_cast},
    {"tract_core", "fragment tract_core_shape_of(input: tensor<?>) -> (output: tensor<integer>);",
     load_shape_of},
    {"tract_nnef", "fragment copy<?>(x: tensor<?>) -> (y: tensor<?>);", load_copy},
};

constexpr OpClass kClasses[] = {op_class<Cast>("Cast")};

}  // namespace

extern const OpModule cast_module;
const OpModule cast_module = {"cast", kOps, kClasses};

}  // namespace rill::ops
