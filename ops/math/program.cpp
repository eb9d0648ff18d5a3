#include "ops/math/program.h"

#include <span>

namespace rill::ops {

using kernels::PointwiseOp;

namespace {

template <class Kind>
struct SameOp {
  Kind kind;
  PointwiseOp op;
};

constexpr SameOp<BinaryKind> kBinary[] = {
    {BinaryKind::kAdd, PointwiseOp::kAdd},
    {BinaryKind::kSub, PointwiseOp::kSub},
    {BinaryKind::kMul, PointwiseOp::kMul},
    {BinaryKind::kDiv, PointwiseOp::kDiv},
    {BinaryKind::kPow, PointwiseOp::kPow},
    {BinaryKind::kMin, PointwiseOp::kMin},
    {BinaryKind::kMax, PointwiseOp::kMax},
    {BinaryKind::kMinNumber, PointwiseOp::kMinNumber},
    {BinaryKind::kMaxNumber, PointwiseOp::kMaxNumber},
    {BinaryKind::kHypot, PointwiseOp::kHypot},
    {BinaryKind::kEq, PointwiseOp::kEq},
    {BinaryKind::kNe, PointwiseOp::kNe},
    {BinaryKind::kLt, PointwiseOp::kLt},
    {BinaryKind::kLe, PointwiseOp::kLe},
    {BinaryKind::kGt, PointwiseOp::kGt},
    {BinaryKind::kGe, PointwiseOp::kGe},
    {BinaryKind::kAnd, PointwiseOp::kAnd},
    {BinaryKind::kOr, PointwiseOp::kOr},
};

constexpr SameOp<UnaryKind> kUnary[] = {
    {UnaryKind::kNeg, PointwiseOp::kNeg},
    {UnaryKind::kAbs, PointwiseOp::kAbs},
    {UnaryKind::kSign, PointwiseOp::kSign},
    {UnaryKind::kSquare, PointwiseOp::kSquare},
    {UnaryKind::kSqrt, PointwiseOp::kSqrt},
    {UnaryKind::kRsqrt, PointwiseOp::kRsqrt},
    {UnaryKind::kRecip, PointwiseOp::kRecip},
    {UnaryKind::kExp, PointwiseOp::kExp},
    {UnaryKind::kLn, PointwiseOp::kLog},
    {UnaryKind::kLog1p, PointwiseOp::kLog1p},
    {UnaryKind::kExpm1, PointwiseOp::kExpm1},
    {UnaryKind::kSoftplus, PointwiseOp::kSoftplus},
    {UnaryKind::kSin, PointwiseOp::kSin},
    {UnaryKind::kCos, PointwiseOp::kCos},
    {UnaryKind::kTan, PointwiseOp::kTan},
    {UnaryKind::kAsin, PointwiseOp::kAsin},
    {UnaryKind::kAcos, PointwiseOp::kAcos},
    {UnaryKind::kAtan, PointwiseOp::kAtan},
    {UnaryKind::kSinh, PointwiseOp::kSinh},
    {UnaryKind::kCosh, PointwiseOp::kCosh},
    {UnaryKind::kTanh, PointwiseOp::kTanh},
    {UnaryKind::kAsinh, PointwiseOp::kAsinh},
    {UnaryKind::kAcosh, PointwiseOp::kAcosh},
    {UnaryKind::kAtanh, PointwiseOp::kAtanh},
    {UnaryKind::kSigmoid, PointwiseOp::kSigmoid},
    {UnaryKind::kErf, PointwiseOp::kErf},
    {UnaryKind::kSilu, PointwiseOp::kSilu},
    {UnaryKind::kGeluApprox, PointwiseOp::kGeluApprox},
    {UnaryKind::kHardSwish, PointwiseOp::kHardSwish},
    {UnaryKind::kLeakyRelu, PointwiseOp::kLeakyRelu},
    {UnaryKind::kFloor, PointwiseOp::kFloor},
    {UnaryKind::kCeil, PointwiseOp::kCeil},
    {UnaryKind::kRound, PointwiseOp::kRound},
    {UnaryKind::kRoundEven, PointwiseOp::kRoundEven},
    {UnaryKind::kNot, PointwiseOp::kNot},
};

template <class Kind>
std::optional<PointwiseOp> op_of(std::span<const SameOp<Kind>> table, Kind kind) {
  for (const SameOp<Kind>& each : table) {
    if (each.kind == kind) return each.op;
  }
  return std::nullopt;
}

}  // namespace

std::optional<PointwiseOp> pointwise_op(BinaryKind kind) {
  return op_of<BinaryKind>(kBinary, kind);
}

std::optional<PointwiseOp> pointwise_op(UnaryKind kind) { return op_of<UnaryKind>(kUnary, kind); }

}  // namespace rill::ops
