#pragma once

#include <cmath>

#include "ops/math/kinds.h"

namespace rill::ops {

/// Compute on floats.
template <class W>
W float_binary(BinaryKind kind, W a, W b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return a / b;
    case BinaryKind::kPow:
      return std::pow(a, b);
    case BinaryKind::kMin:
      return std::isnan(b) || b < a ? b : a;
    case BinaryKind::kMax:
      return std::isnan(b) || b > a ? b : a;
    case BinaryKind::kHypot:
      // Return NaN, as the kernels do: std::hypot is infinite for an infinity and a NaN.
      return std::isnan(a) || std::isnan(b) ? a + b : std::hypot(a, b);
    case BinaryKind::kAtan2:
      return std::atan2(a, b);
    case BinaryKind::kFmod:
      return std::fmod(a, b);
    case BinaryKind::kRemainder: {
      const W rest = std::fmod(a, b);
      return rest != W(0) && (rest < W(0)) != (b < W(0)) ? rest + b : rest;
    }
    case BinaryKind::kMinNumber:
      return std::isnan(b) || a < b ? a : b;
    default:
      return std::isnan(b) || a > b ? a : b;
  }
}

}  // namespace rill::ops
