// How ONNX's functions of every element are read.

#include "core/graph/onnx.h"
#include "ops/math/numpy.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

template <UnaryKind kKind>
Result<Value> unary(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<Unary>(kKind), {x}));
  return Value(out);
}

Result<Value> leaky_relu(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const float alpha, ctx.number("alpha"));
  RILL_ASSIGN(const OutletId out,
              ctx.add1(std::make_shared<Unary>(UnaryKind::kLeakyRelu, alpha), {x}));
  return Value(out);
}

Result<Value> relu(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(Tensor number, cast(Tensor::scalar(0.0F), ctx.fact(x).dtype));
  RILL_ASSIGN(const OutletId zero, ctx.konst(std::move(number), "zero"));
  RILL_ASSIGN(const OutletId out, numpy_binary(ctx, BinaryKind::kMax, x, zero));
  return Value(out);
}

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
    RILL_ONNX_UNARY(6, "Sqrt", UnaryKind::kSqrt),
    RILL_ONNX_UNARY(7, "Tan", UnaryKind::kTan),
    RILL_ONNX_UNARY(6, "Tanh", UnaryKind::kTanh),
    {"", 6, "fragment LeakyRelu(X: tensor<?>, alpha: scalar = 0.01) -> (Y: tensor<?>);",
     leaky_relu},
    {"", 6, "fragment Relu(X: tensor<?>) -> (Y: tensor<?>);", relu},
};

}  // namespace

extern const OnnxRoom unary_onnx;
const OnnxRoom unary_onnx = {"unary", kOps};

}  // namespace rill::ops
