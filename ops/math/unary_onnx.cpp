// Reads ONNX's elementwise functions.

#include "core/graph/onnx.h"
#include "core/graph/typed.h"
#include "ops/math/formula.h"
#include "ops/math/numpy.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

template <UnaryKind kKind>
Result<Value> unary(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  return ctx.add_value(make_op<Unary>(kKind), {x});
}

Result<Value> leaky_relu(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  return ctx.add_value(make_op<Unary>(UnaryKind::kLeakyRelu, alpha), {x});
}

Result<Value> relu(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(Tensor number, as_type_of(Tensor::scalar(0.0F), ctx.fact(x)));
  RILL_ASSIGN(const OutletId zero, ctx.konst(std::move(number), "zero"));
  return as_value(numpy_binary(ctx, BinaryKind::kMax, x, zero));
}

/// Compute max(0, min(1, alpha x + beta)); a NaN stays.
Result<Value> hard_sigmoid(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  RILL_ASSIGN(const float beta, ctx.number("beta"));
  const OutletId line = f.plus(f.times(x, f.number(alpha, x)), f.number(beta, x));
  const OutletId below = f.binary(BinaryKind::kMin, line, f.number(1.0, x));
  return f.value(f.binary(BinaryKind::kMax, below, f.number(0.0, x)));
}

/// Compute x/2 (1 + erf(x / sqrt 2)), or its approximation with tanh.
Result<Value> gelu_of(Formula& f, OutletId x, bool approximate) {
  if (approximate) return f.value(f.add(make_op<Unary>(UnaryKind::kGeluApprox), {x}));
  const OutletId bent = f.unary(UnaryKind::kErf, f.times(x, f.number(0.70710678118654752, x)));
  const OutletId half = f.times(x, f.number(0.5, x));
  return f.value(f.times(half, f.plus(bent, f.number(1.0, x))));
}

Result<Value> gelu(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  std::string approximate = "none";
  if (ctx.has("approximate")) {
    RILL_ASSIGN(approximate, ctx.text("approximate"));
  }
  RILL_CHECK(approximate == "none" || approximate == "tanh", "attribute \"approximate\" is ",
             approximate, ": expected none or tanh");
  return gelu_of(f, x, approximate == "tanh");
}

/// Compute GELU of x, or of x plus a bias, which exporters fuse into the operator.
template <bool kApproximate>
Result<Value> gelu_of_sum(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("X");
  if (ctx.given("bias")) {
    const OutletId bias = f.arg("bias");
    f.expect_within(bias, x);
    x = f.plus(x, bias);
  }
  return gelu_of(f, x, kApproximate);
}

/// Compute x if x > alpha, else 0.
Result<Value> thresholded_relu(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  const OutletId above = f.binary(BinaryKind::kGt, x, f.number(alpha, x));
  return f.value(f.select(above, x, f.number(0.0, x)));
}

/// Move numbers beyond +-lambd towards 0 by bias, and set the others to 0. Integers are computed in
/// f64, because both parameters may be fractions.
Result<Value> shrink(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  const DType type = f.dtype(x);
  if (is_int(type)) x = f.cast(x, DType::kF64);
  RILL_ASSIGN(const float bias, ctx.number("bias"));
  RILL_ASSIGN(const float lambd, ctx.number("lambd"));
  const OutletId by = f.number(bias, x);
  const OutletId above = f.binary(BinaryKind::kGt, x, f.number(lambd, x));
  const OutletId below = f.binary(BinaryKind::kLt, x, f.number(-lambd, x));
  const OutletId high = f.select(above, f.minus(x, by), f.number(0.0, x));
  const OutletId out = f.select(below, f.plus(x, by), high);
  return f.value(is_int(type) ? f.cast(out, type) : out);
}

/// Compute x tanh(log(1 + e^x)) as x n / (n + 2) with n = e^x (e^x + 2). The quotient rounds to 1
/// in f16 beyond 5 and in f32 beyond 20, where n is still in range.
Result<Value> mish(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  const OutletId most = f.number(f.dtype(x) == DType::kF16 ? 5.0 : 20.0, x);
  const OutletId exp = f.unary(UnaryKind::kExp, f.binary(BinaryKind::kMin, x, most));
  const OutletId two = f.number(2.0, x);
  const OutletId n = f.times(exp, f.plus(exp, two));
  return f.value(f.times(x, f.over(n, f.plus(n, two))));
}

Result<Value> is_inf(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const bool negative, ctx.boolean("detect_negative"));
  RILL_ASSIGN(const bool positive, ctx.boolean("detect_positive"));
  const float signs = (positive ? 1.0F : 0.0F) + (negative ? 2.0F : 0.0F);
  return ctx.add_value(make_op<Unary>(UnaryKind::kIsInf, signs), {x});
}

#define RILL_ONNX_FORMULA(call, formula) \
  { "", 1, "fragment " call " -> (Y: tensor<?>) { Y = " formula "; }", nullptr }

#define RILL_ONNX_UNARY(since, name, kind) \
  { "", since, "fragment " name "(X: tensor<?>) -> (Y: tensor<?>);", unary<kind> }

const OnnxOp kOps[] = {
    RILL_ONNX_UNARY(6, "Abs", UnaryKind::kAbs),
    RILL_ONNX_UNARY(7, "Acos", UnaryKind::kAcos),
    RILL_ONNX_UNARY(9, "Acosh", UnaryKind::kAcosh),
    RILL_ONNX_UNARY(7, "Asin", UnaryKind::kAsin),
    RILL_ONNX_UNARY(9, "Asinh", UnaryKind::kAsinh),
    RILL_ONNX_UNARY(7, "Atan", UnaryKind::kAtan),
    RILL_ONNX_UNARY(9, "Atanh", UnaryKind::kAtanh),
    RILL_ONNX_UNARY(18, "BitwiseNot", UnaryKind::kBitNot),
    RILL_ONNX_UNARY(6, "Ceil", UnaryKind::kCeil),
    RILL_ONNX_UNARY(7, "Cos", UnaryKind::kCos),
    RILL_ONNX_UNARY(9, "Cosh", UnaryKind::kCosh),
    RILL_ONNX_UNARY(9, "Erf", UnaryKind::kErf),
    RILL_ONNX_UNARY(6, "Exp", UnaryKind::kExp),
    RILL_ONNX_UNARY(6, "Floor", UnaryKind::kFloor),
    RILL_ONNX_UNARY(9, "IsNaN", UnaryKind::kIsNan),
    RILL_ONNX_UNARY(6, "Log", UnaryKind::kLn),
    RILL_ONNX_UNARY(6, "Neg", UnaryKind::kNeg),
    RILL_ONNX_UNARY(1, "Not", UnaryKind::kNot),
    RILL_ONNX_UNARY(6, "Reciprocal", UnaryKind::kRecip),
    RILL_ONNX_UNARY(11, "Round", UnaryKind::kRoundEven),
    RILL_ONNX_UNARY(6, "Sigmoid", UnaryKind::kSigmoid),
    RILL_ONNX_UNARY(9, "Sign", UnaryKind::kSign),
    RILL_ONNX_UNARY(7, "Sin", UnaryKind::kSin),
    RILL_ONNX_UNARY(9, "Sinh", UnaryKind::kSinh),
    RILL_ONNX_UNARY(1, "Softplus", UnaryKind::kSoftplus),
    RILL_ONNX_UNARY(6, "Sqrt", UnaryKind::kSqrt),
    RILL_ONNX_UNARY(7, "Tan", UnaryKind::kTan),
    RILL_ONNX_UNARY(6, "Tanh", UnaryKind::kTanh),
    {"", 6, "fragment LeakyRelu(X: tensor<?>, alpha: scalar = 0.01) -> (Y: tensor<?>);",
     leaky_relu},
    {"", 6, "fragment Relu(X: tensor<?>) -> (Y: tensor<?>);", relu},
    {"", 1, "fragment HardSwish(X: tensor<?>) -> (Y: tensor<?>);", unary<UnaryKind::kHardSwish>,
     Rounding::kOnce},
    {"", 20, "fragment Gelu(X: tensor<?>, approximate: string = 'none') -> (Y: tensor<?>);", gelu,
     Rounding::kOnce},
    {"com.microsoft", 1, "fragment Gelu(X: tensor<?>) -> (Y: tensor<?>);", gelu, Rounding::kOnce},
    {"com.microsoft", 1, "fragment BiasGelu(X: tensor<?>, bias: tensor<?>) -> (Y: tensor<?>);",
     gelu_of_sum<false>, Rounding::kOnce},
    {"com.microsoft", 1,
     "fragment FastGelu(X: tensor<?>, bias: tensor<?> = false) -> (Y: tensor<?>);",
     gelu_of_sum<true>, Rounding::kOnce},
    {"com.microsoft", 1,
     "fragment QuickGelu(X: tensor<?>, alpha: scalar = 1.702) -> (Y: tensor<?>) "
     "{ Y = X * sigmoid(alpha * X); }",
     nullptr},
    {"", 10,
     "fragment IsInf(X: tensor<?>, detect_negative: logical = true, "
     "detect_positive: logical = true) -> (Y: tensor<logical>);",
     is_inf},
    RILL_ONNX_FORMULA("Elu(X: tensor<?>, alpha: scalar = 1.0)",
                      "select(X < 0.0, alpha * (exp(X) - 1.0), X)"),
    RILL_ONNX_FORMULA("Celu(X: tensor<?>, alpha: scalar = 1.0)",
                      "select(X > 0.0, X, alpha * (exp(X / alpha) - 1.0))"),
    RILL_ONNX_FORMULA("Selu(X: tensor<?>, alpha: scalar = 1.67326319217681884765625, "
                      "gamma: scalar = 1.05070102214813232421875)",
                      "gamma * select(X > 0.0, X, alpha * (exp(X) - 1.0))"),
    {"", 1,
     "fragment HardSigmoid(X: tensor<?>, alpha: scalar = 0.2, beta: scalar = 0.5) "
     "-> (Y: tensor<?>);",
     hard_sigmoid, Rounding::kOnce},
    RILL_ONNX_FORMULA("Softsign(X: tensor<?>)", "X / (1.0 + abs(X))"),
    {"", 1, "fragment Mish(X: tensor<?>) -> (Y: tensor<?>);", mish, Rounding::kOnce},
    RILL_ONNX_FORMULA("Swish(X: tensor<?>, alpha: scalar = 1.0)", "X * sigmoid(alpha * X)"),
    {"", 28,
     "fragment SwiGLU(A: tensor<?>, B: tensor<?>, alpha: scalar = 1.0) -> (Y: tensor<?>) "
     "{ Y = A * sigmoid(alpha * A) * B; }",
     nullptr},
    {"", 1, "fragment ThresholdedRelu(X: tensor<?>, alpha: scalar = 1.0) -> (Y: tensor<?>);",
     thresholded_relu},
    {"", 9,
     "fragment Shrink(X: tensor<?>, bias: scalar = 0.0, lambd: scalar = 0.5) -> (Y: tensor<?>);",
     shrink, Rounding::kOnce},
};

}  // namespace

extern const OnnxModule unary_onnx;
const OnnxModule unary_onnx = {"unary", kOps};

}  // namespace rill::ops
