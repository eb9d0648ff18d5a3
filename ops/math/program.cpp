#include "ops/math/program.h"

namespace rill::ops {

using kernels::PointwiseOp;

std::optional<PointwiseOp> pointwise_op(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return PointwiseOp::kAdd;
    case BinaryKind::kSub:
      return PointwiseOp::kSub;
    case BinaryKind::kMul:
      return PointwiseOp::kMul;
    case BinaryKind::kDiv:
      return PointwiseOp::kDiv;
    case BinaryKind::kPow:
      return PointwiseOp::kPow;
    case BinaryKind::kMin:
      return PointwiseOp::kMin;
    case BinaryKind::kMax:
      return PointwiseOp::kMax;
    case BinaryKind::kMinimum:
      return PointwiseOp::kMinimum;
    case BinaryKind::kMaximum:
      return PointwiseOp::kMaximum;
    case BinaryKind::kEq:
      return PointwiseOp::kEq;
    case BinaryKind::kNe:
      return PointwiseOp::kNe;
    case BinaryKind::kLt:
      return PointwiseOp::kLt;
    case BinaryKind::kLe:
      return PointwiseOp::kLe;
    case BinaryKind::kGt:
      return PointwiseOp::kGt;
    case BinaryKind::kGe:
      return PointwiseOp::kGe;
    case BinaryKind::kAnd:
      return PointwiseOp::kAnd;
    case BinaryKind::kOr:
      return PointwiseOp::kOr;
    default:
      return std::nullopt;
  }
}

std::optional<PointwiseOp> pointwise_op(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kNeg:
      return PointwiseOp::kNeg;
    case UnaryKind::kAbs:
      return PointwiseOp::kAbs;
    case UnaryKind::kSign:
      return PointwiseOp::kSign;
    case UnaryKind::kSquare:
      return PointwiseOp::kSquare;
    case UnaryKind::kSqrt:
      return PointwiseOp::kSqrt;
    case UnaryKind::kRsqrt:
      return PointwiseOp::kRsqrt;
    case UnaryKind::kRecip:
      return PointwiseOp::kRecip;
    case UnaryKind::kExp:
      return PointwiseOp::kExp;
    case UnaryKind::kLn:
      return PointwiseOp::kLog;
    case UnaryKind::kSin:
      return PointwiseOp::kSin;
    case UnaryKind::kCos:
      return PointwiseOp::kCos;
    case UnaryKind::kTan:
      return PointwiseOp::kTan;
    case UnaryKind::kAsin:
      return PointwiseOp::kAsin;
    case UnaryKind::kAcos:
      return PointwiseOp::kAcos;
    case UnaryKind::kAtan:
      return PointwiseOp::kAtan;
    case UnaryKind::kSinh:
      return PointwiseOp::kSinh;
    case UnaryKind::kCosh:
      return PointwiseOp::kCosh;
    case UnaryKind::kTanh:
      return PointwiseOp::kTanh;
    case UnaryKind::kAsinh:
      return PointwiseOp::kAsinh;
    case UnaryKind::kAcosh:
      return PointwiseOp::kAcosh;
    case UnaryKind::kAtanh:
      return PointwiseOp::kAtanh;
    case UnaryKind::kSigmoid:
      return PointwiseOp::kSigmoid;
    case UnaryKind::kErf:
      return PointwiseOp::kErf;
    case UnaryKind::kSilu:
      return PointwiseOp::kSilu;
    case UnaryKind::kGeluApprox:
      return PointwiseOp::kGeluApprox;
    case UnaryKind::kHardSwish:
      return PointwiseOp::kHardSwish;
    case UnaryKind::kLeakyRelu:
      return PointwiseOp::kLeakyRelu;
    case UnaryKind::kFloor:
      return PointwiseOp::kFloor;
    case UnaryKind::kCeil:
      return PointwiseOp::kCeil;
    case UnaryKind::kRound:
      return PointwiseOp::kRound;
    case UnaryKind::kRoundEven:
      return PointwiseOp::kRoundEven;
    case UnaryKind::kNot:
      return PointwiseOp::kNot;
    default:
      return std::nullopt;
  }
}

}  // namespace rill::ops
