#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/math/kinds.h"

namespace rill::ops {

/// Divide, rounding to zero; return 0 for a division by 0, and the wrapped quotient for MIN / -1.
template <class W>
W integer_div(W a, W b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<W>) {
    if (b == -1) return static_cast<W>(0 - static_cast<uint64_t>(a));
  }
  return a / b;
}

/// Divide, rounding down; return 0 for a division by 0, and the wrapped quotient for MIN / -1.
template <class W>
W integer_floor_div(W a, W b) {
  const W quotient = integer_div(a, b);
  if constexpr (std::is_signed_v<W>) {
    const bool below = b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0);
    return below ? quotient - 1 : quotient;
  }
  return quotient;
}

/// Raise to a power, wrapping. For a negative exponent, truncate the power to an integer.
template <class W>
W integer_pow(W base, W exponent) {
  if constexpr (std::is_signed_v<W>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return 0;
    }
  }
  uint64_t power = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) power *= square;
    square *= square;
  }
  return static_cast<W>(power);
}

/// Compute on integers of `bits` bits that were extended to 64 bits; wraps.
template <class W>
W integer_binary(BinaryKind kind, W a, W b, int bits) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  const bool far = b < 0 || ub >= static_cast<uint64_t>(bits);
  switch (kind) {
    case BinaryKind::kAdd:
      return static_cast<W>(ua + ub);
    case BinaryKind::kSub:
      return static_cast<W>(ua - ub);
    case BinaryKind::kMul:
      return static_cast<W>(ua * ub);
    case BinaryKind::kDiv:
      return integer_div(a, b);
    case BinaryKind::kFloorDiv:
      return integer_floor_div(a, b);
    case BinaryKind::kPow:
      return integer_pow(a, b);
    case BinaryKind::kMin:
      return a < b ? a : b;
    case BinaryKind::kMax:
      return a > b ? a : b;
    case BinaryKind::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case BinaryKind::kOr:
      return a != 0 || b != 0 ? 1 : 0;
    case BinaryKind::kXor:
      return (a != 0) != (b != 0) ? 1 : 0;
    case BinaryKind::kBitAnd:
      return static_cast<W>(ua & ub);
    case BinaryKind::kBitOr:
      return static_cast<W>(ua | ub);
    case BinaryKind::kBitXor:
      return static_cast<W>(ua ^ ub);
    case BinaryKind::kShl:
      return far ? 0 : static_cast<W>(ua << ub);
    case BinaryKind::kShr:
      return far ? (a < 0 ? static_cast<W>(-1) : 0) : static_cast<W>(a >> ub);
    default:
      return 0;
  }
}

template <class W>
bool compare(BinaryKind kind, W a, W b) {
  switch (kind) {
    case BinaryKind::kEq:
      return a == b;
    case BinaryKind::kNe:
      return !(a == b);
    case BinaryKind::kLt:
      return a < b;
    case BinaryKind::kLe:
      return a <= b;
    case BinaryKind::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

}  // namespace rill::ops
