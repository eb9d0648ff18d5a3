#pragma once

#include <cmath>
#include <limits>

#include "ops/math/kinds.h"

namespace rill::ops {

/// Compute activation functions; other kinds return x.
template <class W>
W float_activation(UnaryKind kind, W x, W alpha) {
  switch (kind) {
    case UnaryKind::kSigmoid:
      return W(1) / (W(1) + std::exp(-x));
    case UnaryKind::kSilu:
      return x / (W(1) + std::exp(-x));
    case UnaryKind::kSoftplus:
      return (x < W(0) ? W(0) : x) + std::log1p(std::exp(-std::abs(x)));
    case UnaryKind::kGeluApprox: {
      const W inner = W(0.79788456080286536) * (x + W(0.044715) * x * x * x);
      return W(0.5) * x * (W(1) + std::tanh(inner));
    }
    case UnaryKind::kHardSwish:
      return x * std::fmin(std::fmax(x + W(3), W(0)), W(6)) / W(6);
    case UnaryKind::kLeakyRelu:
      return x < 0 ? x * alpha : x;
    default:
      return x;
  }
}

/// Compute on floats.
template <class W>
W float_unary(UnaryKind kind, W x, W alpha) {
  switch (kind) {
    case UnaryKind::kNeg:
      return -x;
    case UnaryKind::kAbs:
      return std::abs(x);
    case UnaryKind::kSign:
      return x > 0 ? W(1) : x < 0 ? W(-1) : x + W(0);
    case UnaryKind::kSquare:
      return x * x;
    case UnaryKind::kSqrt:
      return std::sqrt(x);
    case UnaryKind::kRsqrt:
      return W(1) / std::sqrt(x);
    case UnaryKind::kRecip:
      return W(1) / x;
    case UnaryKind::kExp:
      return std::exp(x);
    case UnaryKind::kLn:
      return std::log(x);
    case UnaryKind::kLog1p:
      return std::log1p(x);
    case UnaryKind::kExpm1:
      return std::expm1(x);
    case UnaryKind::kSin:
      return std::sin(x);
    case UnaryKind::kCos:
      return std::cos(x);
    case UnaryKind::kTan:
      return std::tan(x);
    case UnaryKind::kAsin:
      return std::asin(x);
    case UnaryKind::kAcos:
      return std::acos(x);
    case UnaryKind::kAtan:
      return std::atan(x);
    case UnaryKind::kSinh:
      return std::sinh(x);
    case UnaryKind::kCosh:
      return std::cosh(x);
    case UnaryKind::kTanh:
      return std::tanh(x);
    case UnaryKind::kAsinh:
      return std::asinh(x);
    case UnaryKind::kAcosh:
      // NaN below 1, as the kernels return it.
      return x < 1 ? std::numeric_limits<W>::quiet_NaN()
                   : static_cast<W>(std::acosh(static_cast<double>(x)));
    case UnaryKind::kAtanh:
      return std::atanh(x);
    case UnaryKind::kErf:
      return std::erf(x);
    case UnaryKind::kFloor:
      return std::floor(x);
    case UnaryKind::kCeil:
      return std::ceil(x);
    case UnaryKind::kRound:
      return std::round(x);
    case UnaryKind::kRoundEven:
      return std::nearbyint(x);
    default:
      return float_activation(kind, x, alpha);
  }
}

}  // namespace rill::ops
