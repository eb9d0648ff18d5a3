#include "ops/math/binary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/graph/course.h"
#include "core/graph/rewrite.h"
#include "core/tensor/uniform.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/not_defined.h"
#include "ops/math/binary_step.h"
#include "ops/math/dims.h"
#include "ops/math/f16_operands.h"
#include "ops/math/float_binary.h"
#include "ops/math/integers.h"
#include "ops/math/kind_names.h"
#include "ops/math/places.h"
#include "ops/math/pointwise.h"
#include "ops/math/pow_const.h"
#include "ops/math/program.h"
#include "ops/math/quantised.h"
#include "ops/math/stable.h"
#include "ops/math/unary.h"
#include "ops/op_table.h"

namespace rill::ops {
namespace {

constexpr KindNames kNames[] = {
    {"Add", "add", "tract_nnef"},
    {"Sub", "sub", "tract_nnef"},
    {"Mul", "mul", "tract_nnef"},
    {"Div", "div", "tract_nnef"},
    {"Pow", "pow", "tract_nnef"},
    {"Min", "min", "tract_nnef"},
    {"Max", "max", "tract_nnef"},
    {"MinNumber", "lt", "tract_nnef"},  // written as a selection by this comparison
    {"MaxNumber", "gt", "tract_nnef"},
    {"Hypot", "sqrt", "tract_nnef"},  // written as the formula
    {"Equals", "eq", "tract_nnef"},
    {"NotEquals", "ne", "tract_nnef"},
    {"Less", "lt", "tract_nnef"},
    {"LessEqual", "le", "tract_nnef"},
    {"Greater", "gt", "tract_nnef"},
    {"GreaterEqual", "ge", "tract_nnef"},
    {"And", "and", "tract_nnef"},
    {"Or", "or", "tract_nnef"},
    {"Xor", "tract_core_xor", "tract_core"},
    {"BitAnd", "tract_core_bitand", "tract_core"},
    {"BitOr", "tract_core_bitor", "tract_core"},
    {"BitXor", "tract_core_bitxor", "tract_core"},
    {"ShiftLeft", "tract_shl", "tract_core"},
    {"ShiftRight", "tract_shr", "tract_core"},
    {"FloorDiv", "div", "tract_nnef"},
    {"Atan2", "rill_onnx_atan2", "rill_onnx"},
    {"Fmod", "rill_onnx_fmod", "rill_onnx"},
    {"Remainder", "rill_onnx_remainder", "rill_onnx"},
};

const KindNames& names_of(BinaryKind kind) { return kNames[static_cast<size_t>(kind)]; }

bool is_commutative(BinaryKind kind) {
  return kind == BinaryKind::kAdd || kind == BinaryKind::kMul || is_limit(kind);
}

bool supports(BinaryKind kind, DType t) {
  if (takes_number(kind) || kind == BinaryKind::kHypot || is_function_of_floats(kind)) {
    return is_float(t);
  }
  const bool integer = is_int(t) || t == DType::kDim;
  if (is_arithmetic(kind)) return is_number(t) || t == DType::kDim || is_quantised(t);
  if (kind == BinaryKind::kEq || kind == BinaryKind::kNe) {
    if (t == DType::kBool || t == DType::kString) return true;
  }
  if (is_comparison(kind)) return is_number(t) || t == DType::kDim || is_quantised(t);
  if (kind == BinaryKind::kShl || kind == BinaryKind::kShr) return integer;
  if (kind == BinaryKind::kFloorDiv) return integer;
  return integer || t == DType::kBool;
}

void eval_strings(BinaryKind kind, const View& a, const View& b, const View& out) {
  for_each_element<3>({out, a, b}, [&](const std::array<int64_t, 3>& at) {
    const bool same = a.as<const std::string>()[at[1]] == b.as<const std::string>()[at[2]];
    out.as<uint8_t>()[at[0]] = same == (kind == BinaryKind::kEq) ? 1 : 0;
  });
}

void eval_quantised(BinaryKind kind, const View& a, const View& b, const View& out) {
  for_each_element<3>({out, a, b}, [&](const std::array<int64_t, 3>& at) {
    const double x = real_at(a, at[1]);
    const double y = real_at(b, at[2]);
    if (is_comparison(kind)) {
      out.as<uint8_t>()[at[0]] = compare(kind, x, y) ? 1 : 0;
    } else {
      store_real(out, at[0], float_binary(kind, x, y));
    }
  });
}

}  // namespace

bool takes_number(BinaryKind kind) {
  return kind == BinaryKind::kMinNumber || kind == BinaryKind::kMaxNumber;
}

bool is_limit(BinaryKind kind) {
  return kind >= BinaryKind::kMin && kind <= BinaryKind::kMaxNumber;
}

std::optional<float> uniform_f32(const Fact& fact) {
  if (fact.dtype != DType::kF32 || !is_uniform(fact.konst)) return std::nullopt;
  return fact.konst->data<float>()[0];
}

std::string_view Binary::name() const { return names_of(kind_of).name; }

void Binary::fields(FieldVisitor& visitor) {
  if (q == QParams{}) return;
  quant_fields(visitor, q);
}

void Binary::all_fields(FieldVisitor& visitor) {
  enum_field(visitor, "kind", kLastBinaryKind, kind_of);
  quant_fields(visitor, q);
}

Result<Facts> Binary::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 2));
  const Fact& a = in[0];
  const Fact& b = in[1];
  if (a.dtype != b.dtype) {
    return fail(Code::kDType, "expected two inputs of one type, found ", a, " and ", b);
  }
  if (!supports(kind_of, a.dtype)) {
    return not_defined_for(a, b);
  }
  RILL_CHECK(a.rank() == b.rank(), "expected two inputs of one rank, found ", a, " and ", b);
  Fact out{is_comparison(kind_of) ? DType::kBool : a.dtype, {}, {}, {}};
  if (is_quantised(out.dtype)) out.q = q;
  for (int axis = 0; axis < a.rank(); ++axis) {
    Dim extent = broadcast(a.dim(axis), b.dim(axis));
    RILL_CHECK(extent.valid(), "extents of axis ", axis, " clash: ", a, " and ", b);
    out.shape.push_back(std::move(extent));
  }
  return one_fact(std::move(out));
}

Status Binary::eval(EvalCtx& ctx) const {
  const View& out = ctx.out[0];
  const View a = stretched(ctx.in[0], out);
  const View b = stretched(ctx.in[1], out);
  if (a.dtype == DType::kDim) {
    RILL_NOT_IN_STEPS(return combine_dim_views(SymbolScope(), kind_of, a, b, out);)
  }
  if (a.dtype == DType::kString) {
    eval_strings(kind_of, a, b, out);
  } else if (is_quantised(a.dtype)) {
    eval_quantised(kind_of, a, b, out);
  } else if (a.dtype == DType::kF32 && is_arithmetic(kind_of)) {
    kernels::PointwiseInstr instr;
    instr.op = *pointwise_op(kind_of);
    instr.dst = 2;
    instr.b = 1;
    const View in[] = {a, b};
    run_pointwise({&instr, 1}, in, out);
  } else {
    combine_elements(kind_of, a, b, out);
  }
  return {};
}

Status Binary::lower(Lowering& lowering) const {
  const Operand& a = lowering.in(0);
  const Operand& b = lowering.in(1);
  const int64_t volume = lowering.out_shape(0).volume();
  const bool is_f16 = a.dtype == DType::kF16 && volume > 0;
  if ((a.dtype != DType::kF32 && !is_f16) || !is_arithmetic(kind_of)) {
    if (a.dtype != DType::kBool && !is_number(a.dtype)) return Op::lower(lowering);
    const Operand out = lowering.make_out(0);
    if (is_f16 && is_comparison(kind_of)) {
      const Operand x = upcast(lowering, a);
      const Operand y = upcast(lowering, b);
      lowering.step(kBinary, {kind_of, stretched(x, out), stretched(y, out), out}, {x, y}, {out});
      return {};
    }
    // Sizes are numbers in steps; divide them as symbolic expressions are divided.
    const bool sizes = lowering.node().outputs[0].dtype == DType::kDim;
    const BinaryKind kind = sizes && kind_of == BinaryKind::kDiv ? BinaryKind::kFloorDiv : kind_of;
    lowering.step(kBinary, {kind, stretched(a, out), stretched(b, out), out}, {a, b}, {out});
    return {};
  }
  kernels::PointwiseInstr instr;
  instr.op = *pointwise_op(kind_of);
  instr.dst = 2;
  instr.b = 1;
  const auto scalar = [](const Operand& operand) -> std::optional<float> {
    if (!is_uniform(operand.konst)) return std::nullopt;
    if (operand.dtype == DType::kF32) return operand.konst->data<float>()[0];
    return static_cast<float>(operand.konst->data<Half>()[0]);
  };
  if (const auto imm = scalar(b); imm && a.volume() == volume) {
    instr.imm_at = kernels::PointwiseImm::kB;
    instr.imm = *imm;
    const int only[] = {0};
    return lower_pointwise(lowering, {&instr, 1}, only);
  }
  if (const auto imm = scalar(a); imm && b.volume() == volume) {
    instr.imm_at = kernels::PointwiseImm::kA;
    instr.imm = *imm;
    instr.b = 0;
    const int only[] = {1};
    return lower_pointwise(lowering, {&instr, 1}, only);
  }
  const int both[] = {0, 1};
  return lower_pointwise(lowering, {&instr, 1}, both);
}

OpTraits Binary::traits() const {
  return {.per_element = true, .precision = Precision::kFollows};
}

namespace {

Course::Function function_of(BinaryKind kind) {
  using Function = Course::Function;
  switch (kind) {
    case BinaryKind::kAdd:
      return Function::kAdd;
    case BinaryKind::kSub:
      return Function::kSub;
    case BinaryKind::kMul:
      return Function::kMul;
    case BinaryKind::kDiv:
      return Function::kDiv;
    case BinaryKind::kFloorDiv:
      return Function::kFloorDiv;
    case BinaryKind::kPow:
      return Function::kPow;
    case BinaryKind::kShr:
      return Function::kShiftRight;
    case BinaryKind::kMin:
      return Function::kMin;
    case BinaryKind::kMax:
      return Function::kMax;
    case BinaryKind::kEq:
      return Function::kEq;
    case BinaryKind::kNe:
      return Function::kNe;
    case BinaryKind::kLt:
      return Function::kLt;
    case BinaryKind::kLe:
      return Function::kLe;
    case BinaryKind::kGt:
      return Function::kGt;
    case BinaryKind::kGe:
      return Function::kGe;
    case BinaryKind::kAnd:
      return Function::kAnd;
    case BinaryKind::kOr:
      return Function::kOr;
    default:
      return Function::kOther;
  }
}

}  // namespace

Course Binary::course() const {
  const bool divides = kind_of == BinaryKind::kDiv || kind_of == BinaryKind::kFloorDiv;
  const bool monotone = divides || kind_of == BinaryKind::kAdd || kind_of == BinaryKind::kSub ||
                        kind_of == BinaryKind::kMul || kind_of == BinaryKind::kMin ||
                        kind_of == BinaryKind::kMax;
  return {.form = Course::Form::kPerElement,
          .function = function_of(kind_of),
          .widens = true,
          .monotone_from = monotone ? std::optional(-Course::kEndless) : std::nullopt,
          .monotone_inputs = divides ? 1 : 2};
}

std::vector<AxisTrack> Binary::axes(FactSpan in, FactSpan out) const {
  return elementwise_axes(in, out);
}

namespace {

/// Return the number that all elements of a constant equal, floats or integers.
std::optional<double> number_of(const Fact& fact) {
  return is_number(fact.dtype) ? uniform_number(fact.konst) : std::nullopt;
}

/// Return whether the operation keeps all integers if its second operand is this number.
bool neutral(BinaryKind kind, double value) {
  switch (kind) {
    case BinaryKind::kAdd:
    case BinaryKind::kSub:
      return value == 0.0;
    case BinaryKind::kMul:
    case BinaryKind::kDiv:
    case BinaryKind::kFloorDiv:
    case BinaryKind::kPow:
      return value == 1.0;
    default:
      return false;
  }
}

/// Replace comparisons of dims that the assertions of the model decide.
Status decide_dims(BinaryKind kind, Rewrite& rewrite) {
  const TensorPtr& a = rewrite.in(0).konst;
  const TensorPtr& b = rewrite.in(1).konst;
  if (!a || !b || a->dtype() != DType::kDim) return {};
  const auto shape = rewrite.out().concrete_shape();
  if (!shape.ok()) return {};
  RILL_ASSIGN(Tensor out, Tensor::zeros(rewrite.out().dtype, *shape));
  const View view = out.view();
  const Status decided = combine_dim_views(rewrite.scope(), kind, stretched(a->view(), view),
                                           stretched(b->view(), view), view);
  if (!decided.ok()) return {};
  return rewrite.replace({rewrite.konst(rewrite.node().name, std::move(out))});
}

/// Merge constant bounds: max(max(x, a), b) = max(x, max(a, b)), also for NaN, and the same for
/// min.
Status merge_bounds(const Binary& outer, Rewrite& rewrite) {
  const auto* inner = rewrite.producer_as<Binary>(0);
  if (!inner || inner->kind_of != outer.kind_of) return {};
  const Graph& graph = rewrite.old_graph();
  const Node& producer = rewrite.producer(0);
  const auto a = uniform_f32(graph.fact(producer.inputs[1]));
  const auto b = uniform_f32(rewrite.in(1));
  if (!a || !b || std::isnan(*a) || std::isnan(*b)) return {};
  if (!(graph.fact(producer.inputs[0]).shape == rewrite.out().shape)) return {};
  const bool largest =
      outer.kind_of == BinaryKind::kMax || outer.kind_of == BinaryKind::kMaxNumber;
  const bool first = largest ? *a >= *b : *a <= *b;
  const OutletId bound = rewrite.mapped(first ? producer.inputs[1] : rewrite.input(1));
  return rewrite.replace_by(make_op<Binary>(outer.kind_of),
                            {rewrite.mapped(producer.inputs[0]), bound});
}

/// Replace an operation by a simpler one that has the same bits for this constant. Powers of 2 and
/// 1/2 are replaced although their bits change: only the replacement rounds correctly.
Status specialise(const Binary& op, double value, Rewrite& rewrite) {
  std::optional<UnaryKind> unary;
  if (op.kind_of == BinaryKind::kPow && value == 2.0) unary = UnaryKind::kSquare;
  if (op.kind_of == BinaryKind::kPow && value == 0.5 && is_float(rewrite.in(0).dtype)) {
    unary = UnaryKind::kSqrt;
  }
  if (unary) {
    return rewrite.replace_by(make_op<Unary>(*unary), {rewrite.mapped(rewrite.input(0))});
  }
  const DType dtype = rewrite.in(0).dtype;
  if (op.kind_of == BinaryKind::kPow && (dtype == DType::kF32 || dtype == DType::kF16)) {
    RILL_ASSIGN(const OutletId out,
                rewrite.wire1(rewrite.node().name, make_op<PowConst>(static_cast<float>(value)),
                              {rewrite.mapped(rewrite.input(0))}));
    return rewrite.replace({out});
  }
  int exponent = 0;
  const bool power_of_two = std::abs(std::frexp(value, &exponent)) == 0.5;
  if (op.kind_of != BinaryKind::kDiv || rewrite.in(0).dtype != DType::kF32) return {};
  if (!power_of_two || std::abs(exponent) > 100) return {};
  RILL_ASSIGN(Tensor factor, Tensor::zeros(DType::kF32, rewrite.in(1).konst->shape()));
  std::fill_n(factor.mutable_data<float>(), factor.volume(), static_cast<float>(1.0 / value));
  const OutletId by = rewrite.konst(str_cat(rewrite.node().name, "_factor"), std::move(factor));
  return rewrite.replace_by(make_op<Binary>(BinaryKind::kMul),
                            {rewrite.mapped(rewrite.input(0)), by});
}

/// Read the input of a broadcast directly if the other operand has the whole shape.
Status skip_broadcast(const Binary& op, Rewrite& rewrite) {
  for (int i = 0; i < 2; ++i) {
    const auto source = repeated_wire(rewrite.old_graph(), rewrite.input(i));
    if (!source) continue;
    const bool same_rank = rewrite.old_graph().fact(*source).rank() == rewrite.out().rank();
    if (!same_rank || !(rewrite.in(1 - i).shape == rewrite.out().shape)) continue;
    std::vector<OutletId> inputs = rewrite.mapped_inputs(rewrite.node());
    inputs[static_cast<size_t>(i)] = rewrite.mapped(*source);
    return rewrite.replace_by(op.clone(), inputs);
  }
  return {};
}

/// Drop a neutral operand: true in a conjunction, false in a disjunction.
Status skip_truth(BinaryKind kind, Rewrite& rewrite) {
  if (kind != BinaryKind::kAnd && kind != BinaryKind::kOr) return {};
  for (int i = 0; i < 2; ++i) {
    const auto value = uniform_number(rewrite.in(i).konst);
    if (!value || (*value != 0.0) != (kind == BinaryKind::kAnd)) continue;
    if (!(rewrite.in(1 - i).shape == rewrite.out().shape)) continue;
    return rewrite.bypass(rewrite.input(1 - i));
  }
  return {};
}

/// Return whether an operand may contain a zero, or a denormal, which counts as zero. A minimum or
/// maximum of two equal zeros returns the first, so its operands cannot be swapped.
bool has_zeros(const Tensor& tensor) {
  const auto numbers = cast(tensor, DType::kF64);
  if (!numbers.ok()) return true;
  const double least = tensor.dtype() == DType::kF64
                           ? std::numeric_limits<double>::min()
                           : static_cast<double>(std::numeric_limits<float>::min());
  const auto values = numbers->values<double>();
  return std::any_of(values.begin(), values.end(),
                     [&](double value) { return std::abs(value) < least; });
}

}  // namespace

Status Binary::declutter(Rewrite& rewrite) const {
  RILL_TRY(skip_broadcast(*this, rewrite));
  if (rewrite.replacement()) return {};
  RILL_TRY(compare_places(kind_of, rewrite));
  if (rewrite.replacement()) return {};
  const DType dtype = rewrite.in(0).dtype;
  if (dtype == DType::kBool) return skip_truth(kind_of, rewrite);
  if (dtype == DType::kDim) return decide_dims(kind_of, rewrite);
  if (is_quantised(dtype) || !is_number(dtype)) return {};
  const bool left_const = rewrite.in(0).konst != nullptr;
  const bool right_const = rewrite.in(1).konst != nullptr;
  if (left_const && !right_const && is_commutative(kind_of) &&
      !(is_float(dtype) && is_limit(kind_of) && has_zeros(*rewrite.in(0).konst))) {
    return rewrite.replace_by(clone(),
                              {rewrite.mapped(rewrite.input(1)), rewrite.mapped(rewrite.input(0))});
  }
  if (kind_of == BinaryKind::kMul && rewrite.input(0) == rewrite.input(1)) {
    return rewrite.replace_by(make_op<Unary>(UnaryKind::kSquare),
                              {rewrite.mapped(rewrite.input(0))});
  }
  // A pulsed graph that is read from a file has formulas in place of stable functions.
  const bool bound = is_float(dtype) && rewrite.old_graph().numbers_bound;
  if (kind_of == BinaryKind::kAdd && !bound) RILL_TRY(stable_sum(rewrite));
  if (kind_of == BinaryKind::kSub && !bound) RILL_TRY(stable_rest(rewrite));
  if (rewrite.replacement()) return {};
  const auto value = number_of(rewrite.in(1));
  if (!value || !(rewrite.in(0).shape == rewrite.out().shape)) return {};
  if (is_limit(kind_of)) return merge_bounds(*this, rewrite);
  if (!bound) RILL_TRY(stable_difference(kind_of, *value, rewrite));
  if (rewrite.replacement()) return {};
  // A float operation with a neutral operand flushes denormals, and -0 + 0 is 0. A power with a
  // constant exponent rounds in its own way.
  if (is_float(dtype) && rewrite.old_graph().keeps_rounding()) return {};
  if (neutral(kind_of, *value)) return rewrite.bypass(rewrite.input(0));
  return specialise(*this, *value, rewrite);
}

Status Binary::fuse(Rewrite& rewrite) const {
  if (rewrite.out().dtype == DType::kI32) return fuse_by_modules(*this, rewrite);
  return fuse_elementwise(rewrite);
}

Cost Binary::cost(FactSpan in, FactSpan out) const {
  const Dim count = volume(out[0].shape);
  return {count, Dim(3 * dtype_size(in[0].dtype)) * count};
}

namespace {

/// Return the text of an integer quotient that `div` alone would round differently; nothing if
/// `div` is right.
std::optional<std::string> written_quotient(SaveCtx& ctx, BinaryKind kind, const std::string& a,
                                            const std::string& b) {
  const DType dtype = ctx.node().outputs[0].dtype;
  const bool of_pytorch = means_pytorch(ctx.graph());
  if (kind == BinaryKind::kDiv && is_int(dtype) && of_pytorch) return str_cat(a, " / ", b);
  if (kind != BinaryKind::kFloorDiv || dtype == DType::kDim || of_pytorch) return std::nullopt;
  const std::string quotient = ctx.temp("quotient", str_cat("div(", a, ", ", b, ")"));
  const std::string differs = str_cat("ne(mul(", quotient, ", ", b, "), ", a, ")");
  const std::string below = str_cat("ne(lt(", a, ", 0), lt(", b, ", 0))");
  const std::string more = ctx.temp(
      "more", str_cat("select(and(and(", differs, ", ", below, "), ne(", b, ", 0)), 1, 0)"));
  ctx.need_registry("tract_core");
  return str_cat("sub(", quotient, ", tract_core_cast(", more, ", to = \"", dtype_name(dtype),
                 "\"))");
}

}  // namespace

Status Binary::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string a, ctx.in(0));
  RILL_ASSIGN(const std::string b, ctx.in(1));
  const KindNames& form = names_of(kind_of);
  if (std::string_view(form.registry) != "tract_nnef") ctx.need_registry(form.registry);
  if (takes_number(kind_of)) {
    const auto limit = number_of(ctx.graph().fact(ctx.node().inputs[1]));
    const bool plain = limit && !std::isnan(*limit);
    std::string other = b;
    if (!plain) {
      const std::string none = ctx.temp("none", str_cat("ne(", b, ", ", b, ")"));
      other = ctx.temp("other", str_cat("select(", none, ", ", a, ", ", b, ")"));
    }
    const std::string within = ctx.temp("within", str_cat(form.nnef, "(", a, ", ", b, ")"));
    ctx.assign(str_cat("select(", within, ", ", a, ", ", other, ")"));
    return {};
  }
  if (kind_of == BinaryKind::kHypot) {
    const std::string squares[] = {ctx.temp("square", str_cat("square(", a, ")")),
                                   ctx.temp("square", str_cat("square(", b, ")"))};
    const std::string sum = ctx.temp("sum", str_cat("add(", squares[0], ", ", squares[1], ")"));
    ctx.assign(str_cat("sqrt(", sum, ")"));
    return {};
  }
  const auto quotient = written_quotient(ctx, kind_of, a, b);
  ctx.assign(quotient.value_or(str_cat(form.nnef, "(", a, ", ", b, ")")));
  return {};
}

namespace {

/// Choose the rounding of an integer division. PyTorch's exporter writes `div` if it rounds down,
/// and a slash if it rounds to zero. Sizes round down. A value computed from inputs is not a size,
/// even if it is known.
Status round_as_pytorch(LoadCtx& ctx, BinaryKind* kind, OutletId* a, OutletId* b) {
  if (!is_whole(ctx.fact(*a).dtype) || !is_whole(ctx.fact(*b).dtype)) return {};
  if (!ctx.infix()) {
    *kind = BinaryKind::kFloorDiv;
    return {};
  }
  if (ctx.fact(*a).konst && ctx.fact(*b).konst) return {};
  for (OutletId* operand : {a, b}) {
    if (ctx.fact(*operand).dtype != DType::kDim) continue;
    RILL_ASSIGN(*operand, cast_to(ctx, *operand, DType::kI64));
  }
  return {};
}

Result<Value> load_kind(LoadCtx& ctx, BinaryKind kind) {
  RILL_ASSIGN(OutletId a, plain_wire(ctx, "x"));
  RILL_ASSIGN(OutletId b, plain_wire(ctx, "y"));
  if (kind == BinaryKind::kDiv && means_pytorch(ctx.graph())) {
    RILL_TRY(round_as_pytorch(ctx, &kind, &a, &b));
  }
  return as_value(load_written_binary(ctx, kind, a, b));
}

template <BinaryKind kKind>
Result<Value> load(LoadCtx& ctx) {
  return load_kind(ctx, kKind);
}

#define RILL_BINARY(kind, registry, text) \
  { registry, "fragment " text "(x: tensor<?>, y: tensor<?>) -> (z: tensor<?>);", load<kind> }

constexpr NnefOp kOps[] = {
    RILL_BINARY(BinaryKind::kAdd, "tract_nnef", "add"),
    RILL_BINARY(BinaryKind::kSub, "tract_nnef", "sub"),
    RILL_BINARY(BinaryKind::kMul, "tract_nnef", "mul"),
    RILL_BINARY(BinaryKind::kDiv, "tract_nnef", "div"),
    RILL_BINARY(BinaryKind::kPow, "tract_nnef", "pow"),
    RILL_BINARY(BinaryKind::kMin, "tract_nnef", "min"),
    RILL_BINARY(BinaryKind::kMax, "tract_nnef", "max"),
    RILL_BINARY(BinaryKind::kEq, "tract_nnef", "eq"),
    RILL_BINARY(BinaryKind::kNe, "tract_nnef", "ne"),
    RILL_BINARY(BinaryKind::kLt, "tract_nnef", "lt"),
    RILL_BINARY(BinaryKind::kLe, "tract_nnef", "le"),
    RILL_BINARY(BinaryKind::kGt, "tract_nnef", "gt"),
    RILL_BINARY(BinaryKind::kGe, "tract_nnef", "ge"),
    RILL_BINARY(BinaryKind::kAnd, "tract_nnef", "and"),
    RILL_BINARY(BinaryKind::kOr, "tract_nnef", "or"),
    RILL_BINARY(BinaryKind::kXor, "tract_core", "tract_core_xor"),
    RILL_BINARY(BinaryKind::kBitAnd, "tract_core", "tract_core_bitand"),
    RILL_BINARY(BinaryKind::kBitOr, "tract_core", "tract_core_bitor"),
    RILL_BINARY(BinaryKind::kBitXor, "tract_core", "tract_core_bitxor"),
    RILL_BINARY(BinaryKind::kShl, "tract_core", "tract_shl"),
    RILL_BINARY(BinaryKind::kShr, "tract_core", "tract_shr"),
    RILL_BINARY(BinaryKind::kAtan2, "rill_onnx", "rill_onnx_atan2"),
    RILL_BINARY(BinaryKind::kFmod, "rill_onnx", "rill_onnx_fmod"),
    RILL_BINARY(BinaryKind::kRemainder, "rill_onnx", "rill_onnx_remainder"),
};

constexpr OpClass kClasses[] = {op_class<Binary>("Binary")};

}  // namespace

extern const OpModule binary_module;
const OpModule binary_module = {"binary", kOps, kClasses};

}  // namespace rill::ops
