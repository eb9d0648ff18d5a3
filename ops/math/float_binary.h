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
      return std::fmin(a, b);
    case BinaryKind::kMinimum:
      return std::isnan(b) || b < a ? b : a;
    case BinaryKind::kMaximum:
      return std::isnan(b) || b > a ? b : a;
    default:
      return std::fmax(a, b);
  }
}

}  // namespace rill::ops
