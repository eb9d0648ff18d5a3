// How ONNX's operators on two tensors are read.

#include "core/graph/onnx.h"
#include "ops/math/numpy.h"

namespace rill::ops {
namespace {

template <BinaryKind kKind>
Result<Value> binary(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId a, ctx.wire("A"));
  RILL_ASSIGN(const OutletId b, ctx.wire("B"));
  RILL_ASSIGN(const OutletId out, numpy_binary(ctx, kKind, a, b));
  return Value(out);
}

/// Max and Min of any number of tensors.
template <BinaryKind kKind>
Result<Value> variadic(OnnxCtx& ctx) {
  RILL_ASSIGN(const std::vector<OutletId> list, ctx.wires("inputs"));
  RILL_CHECK(!list.empty(), "expected one input or more");
  OutletId out = list[0];
  for (size_t i = 1; i < list.size(); ++i) {
    RILL_ASSIGN(out, numpy_binary(ctx, kKind, out, list[i], i + 1 < list.size() ? "part" : ""));
  }
  return Value(out);
}

#define RILL_ONNX_BINARY(since, name, kind) \
  { "", since, "fragment " name "(A: tensor<?>, B: tensor<?>) -> (C: tensor<?>);", binary<kind> }

const OnnxOp kOps[] = {
    RILL_ONNX_BINARY(7, "Add", BinaryKind::kAdd),
    RILL_ONNX_BINARY(7, "Sub", BinaryKind::kSub),
    RILL_ONNX_BINARY(7, "Mul", BinaryKind::kMul),
    RILL_ONNX_BINARY(7, "Div", BinaryKind::kDiv),
    RILL_ONNX_BINARY(7, "Equal", BinaryKind::kEq),
    RILL_ONNX_BINARY(7, "Less", BinaryKind::kLt),
    RILL_ONNX_BINARY(12, "LessOrEqual", BinaryKind::kLe),
    RILL_ONNX_BINARY(7, "Greater", BinaryKind::kGt),
    RILL_ONNX_BINARY(12, "GreaterOrEqual", BinaryKind::kGe),
    RILL_ONNX_BINARY(7, "And", BinaryKind::kAnd),
    RILL_ONNX_BINARY(7, "Or", BinaryKind::kOr),
    RILL_ONNX_BINARY(7, "Xor", BinaryKind::kXor),
    {"", 8, "fragment Max(inputs: tensor<?>[]) -> (max: tensor<?>);", variadic<BinaryKind::kMax>},
    {"", 8, "fragment Min(inputs: tensor<?>[]) -> (min: tensor<?>);", variadic<BinaryKind::kMin>},
    {"", 8, "fragment Sum(inputs: tensor<?>[]) -> (sum: tensor<?>);", variadic<BinaryKind::kAdd>},
};

}  // namespace

extern const OnnxRoom binary_onnx;
const OnnxRoom binary_onnx = {"binary", kOps};

}  // namespace rill::ops
