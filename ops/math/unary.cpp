#include "ops/math/unary.h"

#include <cmath>
#include <limits>
#include <optional>

#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/not_defined.h"
#include "ops/array/spread.h"
#include "ops/math/binary.h"
#include "ops/math/float_unary.h"
#include "ops/math/kind_names.h"
#include "ops/math/pointwise.h"
#include "ops/math/program.h"
#include "ops/math/quantised.h"
#include "ops/math/stable.h"
#include "ops/math/unary_step.h"

namespace rill::ops {
namespace {

constexpr KindNames kNames[] = {
    {"Neg", "neg", "tract_nnef"},
    {"Abs", "abs", "tract_nnef"},
    {"Sign", "sign", "tract_nnef"},
    {"Square", "square", "tract_nnef"},
    {"Sqrt", "sqrt", "tract_nnef"},
    {"Rsqrt", "rsqrt", "tract_nnef"},
    {"Recip", "recip", "tract_nnef"},
    {"Exp", "exp", "tract_nnef"},
    {"Ln", "log", "tract_nnef"},
    {"Log1p", "log", "tract_nnef"},  // this one and the next are written as formulas
    {"Expm1", "exp", "tract_nnef"},
    {"Softplus", "softplus", "tract_nnef"},
    {"Sin", "sin", "tract_nnef"},
    {"Cos", "cos", "tract_nnef"},
    {"Tan", "tan", "tract_nnef"},
    {"Asin", "asin", "tract_nnef"},
    {"Acos", "acos", "tract_nnef"},
    {"Atan", "atan", "tract_nnef"},
    {"Sinh", "sinh", "tract_nnef"},
    {"Cosh", "cosh", "tract_nnef"},
    {"Tanh", "tanh", "tract_nnef"},
    {"Asinh", "asinh", "tract_nnef"},
    {"Acosh", "acosh", "tract_nnef"},
    {"Atanh", "atanh", "tract_nnef"},
    {"Sigmoid", "sigmoid", "tract_nnef"},
    {"Erf", "tract_core_erf", "tract_core"},
    {"Silu", "tract_core_silu", "tract_core"},
    {"GeluApprox", "tract_core_gelu_approx", "tract_core"},
    {"HardSwish", "tract_core_hard_swish", "tract_core"},
    {"LeakyRelu", "leaky_relu", "tract_nnef"},
    {"Floor", "floor", "tract_nnef"},
    {"Ceil", "ceil", "tract_nnef"},
    {"Round", "round", "tract_nnef"},
    {"RoundHalfToEven", "tract_core_round_even", "tract_core"},
    {"Not", "not", "tract_nnef"},
    {"BitNot", "tract_core_bitnot", "tract_core"},
    {"IsNan", "tract_core_is_nan", "tract_core"},
    {"IsInf", "tract_core_is_inf", "tract_core"},
};

const KindNames& names_of(UnaryKind kind) { return kNames[static_cast<size_t>(kind)]; }

bool is_rounding(UnaryKind kind) {
  return kind >= UnaryKind::kFloor && kind <= UnaryKind::kRoundEven;
}
bool supports(UnaryKind kind, DType t) {
  if (kind == UnaryKind::kNot) return t == DType::kBool;
  if (kind == UnaryKind::kBitNot) return t == DType::kBool || is_int(t);
  if (is_float(t)) return true;
  if (is_test(kind)) return is_int(t);
  if (is_quantised(t)) return true;
  const bool integral = is_int(t) || t == DType::kDim;
  switch (kind) {
    case UnaryKind::kNeg:
    case UnaryKind::kAbs:
      return integral;
    case UnaryKind::kSign:
    case UnaryKind::kSquare:
      return is_int(t);
    default:
      return is_rounding(kind) && integral;
  }
}

/// Compute on dims; rounding leaves them unchanged.
RILL_NOT_IN_STEPS_BEGIN
Status eval_dims(UnaryKind kind, const View& x, const View& out) RILL_NONBLOCKING {
  Status status;
  for_each_element<2>({out, x}, [&](const std::array<int64_t, 2>& at) {
    const Dim& v = x.as<const Dim>()[at[1]];
    Dim result = v;
    if (kind == UnaryKind::kNeg) result = -v;
    if (kind == UnaryKind::kAbs) result = max(v, -v);
    if (!result.valid()) status = fail(Code::kSymbol, "the value for ", v, " is out of range");
    out.as<Dim>()[at[0]] = std::move(result);
  });
  return status;
}
RILL_NOT_IN_STEPS_END

kernels::PointwiseInstr instruction(const Unary& op) {
  kernels::PointwiseInstr instr;
  instr.op = *pointwise_op(op.kind_of);
  instr.dst = 1;
  instr.imm = op.alpha;
  return instr;
}

}  // namespace

std::string_view Unary::name() const { return names_of(kind_of).name; }

void Unary::fields(FieldVisitor& visitor) {
  if (kind_of == UnaryKind::kLeakyRelu || kind_of == UnaryKind::kIsInf) {
    visitor.field("alpha", alpha);
  }
}

void Unary::all_fields(FieldVisitor& visitor) {
  enum_field(visitor, "kind", UnaryKind::kIsInf, kind_of);
  visitor.field("alpha", alpha);
}

Result<Facts> Unary::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  if (!supports(kind_of, in[0].dtype)) {
    return not_defined_for(in[0]);
  }
  Fact out = in[0].without_value();
  if (is_test(kind_of)) out = Fact::of(DType::kBool, out.shape);
  return one_fact(std::move(out));
}

Status Unary::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  if (x.dtype == DType::kDim) return eval_dims(kind_of, x, out);
  if (is_quantised(x.dtype)) {
    for_each_element<2>({out, x}, [&](const std::array<int64_t, 2>& at) {
      store_real(out, at[0], float_unary<double>(kind_of, real_at(x, at[1]), alpha));
    });
  } else if (x.dtype == DType::kF32 && !is_test(kind_of)) {
    const kernels::PointwiseInstr instr = instruction(*this);
    run_pointwise({&instr, 1}, {&x, 1}, out);
  } else {
    change_elements(kind_of, alpha, x, out);
  }
  return {};
}

Status Unary::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  const bool in_floats = x.dtype == DType::kF32 || (x.dtype == DType::kF16 && x.volume() > 0);
  if (!in_floats || is_test(kind_of)) {
    if (x.dtype != DType::kBool && !is_number(x.dtype)) return Op::lower(lowering);
    const Operand out = lowering.make_out(0);
    lowering.step(kUnary, {kind_of, alpha, x, out}, {x}, {out});
    return {};
  }
  const kernels::PointwiseInstr instr = instruction(*this);
  const int only[] = {0};
  return lower_pointwise(lowering, {&instr, 1}, only);
}

namespace {

Course::Function function_of(UnaryKind kind) {
  using Function = Course::Function;
  switch (kind) {
    case UnaryKind::kNeg:
      return Function::kNeg;
    case UnaryKind::kAbs:
      return Function::kAbs;
    case UnaryKind::kSquare:
      return Function::kSquare;
    case UnaryKind::kSqrt:
      return Function::kSqrt;
    case UnaryKind::kExp:
      return Function::kExp;
    case UnaryKind::kFloor:
      return Function::kFloor;
    case UnaryKind::kCeil:
      return Function::kCeil;
    case UnaryKind::kNot:
      return Function::kNot;
    default:
      return Function::kOther;
  }
}

std::optional<double> monotone_from(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kNeg:
    case UnaryKind::kExp:
    case UnaryKind::kExpm1:
    case UnaryKind::kSoftplus:
    case UnaryKind::kTanh:
    case UnaryKind::kSigmoid:
    case UnaryKind::kErf:
    case UnaryKind::kAtan:
    case UnaryKind::kSinh:
    case UnaryKind::kAsinh:
    case UnaryKind::kFloor:
    case UnaryKind::kCeil:
    case UnaryKind::kRound:
    case UnaryKind::kRoundEven:
      return -Course::kEndless;
    case UnaryKind::kLog1p:
      return -1;
    case UnaryKind::kSqrt:
    case UnaryKind::kLn:
    case UnaryKind::kAbs:
    case UnaryKind::kSquare:
    case UnaryKind::kCosh:
      return 0;
    case UnaryKind::kRecip:
    case UnaryKind::kRsqrt:
      return std::numeric_limits<double>::denorm_min();  // 0 is a pole
    default:
      return std::nullopt;
  }
}

}  // namespace

Course Unary::course() const {
  const bool even = kind_of == UnaryKind::kAbs || kind_of == UnaryKind::kSquare ||
                    kind_of == UnaryKind::kCosh;
  return {.form = Course::Form::kPerElement,
          .function = function_of(kind_of),
          .widens = true,
          .monotone_from = monotone_from(kind_of),
          .mirrored = even};
}

std::vector<AxisTrack> Unary::axes(FactSpan in, FactSpan out) const {
  return elementwise_axes(in, out);
}

Status Unary::declutter(Rewrite& rewrite) const {
  const DType dtype = rewrite.in(0).dtype;
  const bool whole = is_int(dtype) || dtype == DType::kDim;
  if (is_rounding(kind_of) && whole) return rewrite.bypass(rewrite.input(0));
  // A pulsed graph that is read from a file has formulas in place of stable functions.
  if (!rewrite.old_graph().numbers_bound) RILL_TRY(stable_function(kind_of, rewrite));
  if (rewrite.replacement()) return {};
  const auto* inner = rewrite.producer_as<Unary>(0);
  if (!inner && kind_of == UnaryKind::kNot) return spread_constant(rewrite);
  if (!inner) return {};
  const bool undone =
      (kind_of == UnaryKind::kNeg || kind_of == UnaryKind::kNot || kind_of == UnaryKind::kBitNot) &&
      inner->kind_of == kind_of && !is_quantised(dtype);
  if (undone) return rewrite.bypass(rewrite.producer(0).inputs[0]);
  return {};
}

Status Unary::fuse(Rewrite& rewrite) const { return fuse_elementwise(rewrite); }

Cost Unary::cost(FactSpan in, FactSpan out) const {
  const Dim count = volume(out[0].shape);
  return {count, Dim(2 * dtype_size(in[0].dtype)) * count};
}

Status Unary::save(SaveCtx& ctx) const {
  const KindNames& form = names_of(kind_of);
  RILL_ASSIGN(const std::string x, ctx.in(0));
  if (std::string_view(form.registry) != "tract_nnef") ctx.need_registry(form.registry);
  std::string arguments = x;
  if (kind_of == UnaryKind::kLeakyRelu) arguments += str_cat(", ", nnef_text(alpha));
  if (kind_of == UnaryKind::kGeluApprox) arguments += ", fast_impl = false";
  if (kind_of == UnaryKind::kIsInf) {
    const auto signs = static_cast<int>(alpha);
    arguments +=
        str_cat(", detect_positive = ", (signs & 1) != 0, ", detect_negative = ", (signs & 2) != 0);
  }
  if (kind_of == UnaryKind::kLog1p || kind_of == UnaryKind::kExpm1) {
    return save_stable(ctx, kind_of, x);
  }
  ctx.assign(str_cat(form.nnef, "(", arguments, ")"));
  return {};
}

namespace {

Result<Value> load_kind(LoadCtx& ctx, UnaryKind kind) {
  RILL_ASSIGN(OutletId x, plain_wire(ctx, "x"));
  const DType dtype = ctx.fact(x).dtype;
  if (is_whole(dtype) && !supports(kind, dtype) && means_pytorch(ctx.graph())) {
    // PyTorch computes such functions of integers in f32.
    RILL_ASSIGN(x, cast_to(ctx, x, DType::kF32));
  }
  return ctx.add_value(make_op<Unary>(kind), {x});
}

template <UnaryKind kKind>
Result<Value> load(LoadCtx& ctx) {
  return load_kind(ctx, kKind);
}

Result<Value> load_leaky_relu(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "x"));
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  return ctx.add_value(make_op<Unary>(UnaryKind::kLeakyRelu, alpha), {x});
}

/// Read the form of GELU with x squared instead of cubed: 0.5 x (1 + tanh(sqrt(2 / pi) (x +
/// 0.044715 x^2))).
Result<Value> load_gelu_of_square(LoadCtx& ctx, OutletId x) {
  const auto scaled = [&](OutletId wire, float by) -> Result<OutletId> {
    RILL_ASSIGN(const OutletId factor, ctx.konst(Tensor::scalar(by), "factor"));
    return load_binary(ctx, BinaryKind::kMul, wire, factor);
  };
  RILL_ASSIGN(OutletId wire, ctx.add1(make_op<Unary>(UnaryKind::kSquare), {x}, "square"));
  RILL_ASSIGN(wire, scaled(wire, 0.044715F));
  RILL_ASSIGN(wire, load_binary(ctx, BinaryKind::kAdd, x, wire));
  RILL_ASSIGN(wire, scaled(wire, 0.79788456F));
  RILL_ASSIGN(wire, ctx.add1(make_op<Unary>(UnaryKind::kTanh), {wire}, "tanh"));
  RILL_ASSIGN(const OutletId one, ctx.konst(Tensor::scalar(1.0F), "one"));
  RILL_ASSIGN(wire, load_binary(ctx, BinaryKind::kAdd, wire, one));
  RILL_ASSIGN(const OutletId half, scaled(x, 0.5F));
  RILL_ASSIGN(wire, load_binary(ctx, BinaryKind::kMul, half, wire));
  return as_value(wire);
}

Result<Value> load_gelu_approx(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const bool square, ctx.boolean("fast_impl"));
  if (square) return load_gelu_of_square(ctx, x);
  return ctx.add_value(make_op<Unary>(UnaryKind::kGeluApprox), {x});
}

Result<Value> load_is_inf(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const bool positive, ctx.boolean("detect_positive"));
  RILL_ASSIGN(const bool negative, ctx.boolean("detect_negative"));
  const float signs = (positive ? 1.0F : 0.0F) + (negative ? 2.0F : 0.0F);
  return ctx.add_value(make_op<Unary>(UnaryKind::kIsInf, signs), {x});
}

Result<Value> load_silu(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  return ctx.add_value(make_op<Unary>(UnaryKind::kSilu), {x});
}

#define RILL_UNARY(kind, registry, text) \
  { registry, "fragment " text "(x: tensor<?>) -> (y: tensor<?>);", load<kind> }
#define RILL_GELU(registry, text)                             \
  {                                                           \
    registry,                                                 \
        "fragment " text                                      \
        "(input: tensor<scalar>, fast_impl: logical = false)" \
        " -> (output: tensor<scalar>);",                      \
        load_gelu_approx                                      \
  }
#define RILL_SILU(registry, text) \
  { registry, "fragment " text "(input: tensor<scalar>) -> (output: tensor<scalar>);", load_silu }

constexpr NnefOp kOps[] = {
    RILL_UNARY(UnaryKind::kNeg, "tract_nnef", "neg"),
    RILL_UNARY(UnaryKind::kAbs, "tract_nnef", "abs"),
    RILL_UNARY(UnaryKind::kSign, "tract_nnef", "sign"),
    RILL_UNARY(UnaryKind::kSquare, "tract_nnef", "square"),
    RILL_UNARY(UnaryKind::kSqrt, "tract_nnef", "sqrt"),
    RILL_UNARY(UnaryKind::kRsqrt, "tract_nnef", "rsqrt"),
    RILL_UNARY(UnaryKind::kRecip, "tract_nnef", "recip"),
    RILL_UNARY(UnaryKind::kRecip, "tract_nnef", "rcp"),
    RILL_UNARY(UnaryKind::kExp, "tract_nnef", "exp"),
    RILL_UNARY(UnaryKind::kLn, "tract_nnef", "log"),
    RILL_UNARY(UnaryKind::kSoftplus, "tract_nnef", "softplus"),
    RILL_UNARY(UnaryKind::kSin, "tract_nnef", "sin"),
    RILL_UNARY(UnaryKind::kCos, "tract_nnef", "cos"),
    RILL_UNARY(UnaryKind::kTan, "tract_nnef", "tan"),
    RILL_UNARY(UnaryKind::kAsin, "tract_nnef", "asin"),
    RILL_UNARY(UnaryKind::kAcos, "tract_nnef", "acos"),
    RILL_UNARY(UnaryKind::kAtan, "tract_nnef", "atan"),
    RILL_UNARY(UnaryKind::kSinh, "tract_nnef", "sinh"),
    RILL_UNARY(UnaryKind::kCosh, "tract_nnef", "cosh"),
    RILL_UNARY(UnaryKind::kTanh, "tract_nnef", "tanh"),
    RILL_UNARY(UnaryKind::kAsinh, "tract_nnef", "asinh"),
    RILL_UNARY(UnaryKind::kAcosh, "tract_nnef", "acosh"),
    RILL_UNARY(UnaryKind::kAtanh, "tract_nnef", "atanh"),
    RILL_UNARY(UnaryKind::kSigmoid, "tract_nnef", "sigmoid"),
    RILL_UNARY(UnaryKind::kFloor, "tract_nnef", "floor"),
    RILL_UNARY(UnaryKind::kCeil, "tract_nnef", "ceil"),
    RILL_UNARY(UnaryKind::kRound, "tract_nnef", "round"),
    RILL_UNARY(UnaryKind::kNot, "tract_nnef", "not"),
    RILL_UNARY(UnaryKind::kErf, "tract_core", "tract_core_erf"),
    RILL_UNARY(UnaryKind::kHardSwish, "tract_core", "tract_core_hard_swish"),
    RILL_UNARY(UnaryKind::kRoundEven, "tract_core", "tract_core_round_even"),
    RILL_UNARY(UnaryKind::kIsNan, "tract_core", "tract_core_is_nan"),
    RILL_UNARY(UnaryKind::kBitNot, "tract_core", "tract_core_bitnot"),
    RILL_SILU("tract_core", "tract_core_silu"),
    RILL_SILU("tract_transformers", "tract_transformers_silu"),
    RILL_GELU("tract_core", "tract_core_gelu_approx"),
    RILL_GELU("tract_transformers", "tract_transformers_gelu_approx"),
    {"tract_nnef", "fragment leaky_relu(x: tensor<scalar>, alpha: scalar) -> (y: tensor<scalar>);",
     load_leaky_relu},
    {"tract_core",
     "fragment tract_core_is_inf(input: tensor<scalar>, detect_positive: logical = true,"
     " detect_negative: logical = true) -> (output: tensor<logical>);",
     load_is_inf},
};

constexpr OpClass kClasses[] = {op_class<Unary>("Unary")};

}  // namespace

extern const OpModule unary_module;
const OpModule unary_module = {"unary", kOps, kClasses};

}  // namespace rill::ops
