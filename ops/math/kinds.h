#pragma once

#include <cstdint>

namespace rill::ops {

enum class BinaryKind : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  ///< integers: truncates, division by 0 gives 0
  kPow,
  kMin,  ///< NaN if either is NaN; of equal operands, the first
  kMax,
  kMinNumber,  ///< of floats; of a number and a NaN, the number
  kMaxNumber,
  kHypot,  ///< of floats: sqrt(a^2 + b^2), without overflow of the squares
  kEq,  ///< comparisons give bool
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,  ///< of integers: 1 if both are not 0
  kOr,
  kXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShl,  ///< a negative count, or one beyond the width, shifts all bits out
  kShr,
  kFloorDiv,  ///< of integers: rounds down, division by 0 gives 0
  kAtan2,      ///< of floats: the angle of the point (b, a)
  kFmod,       ///< of floats: the exact remainder of truncated division
  kRemainder,  ///< of floats: the remainder of floored division
};

inline constexpr BinaryKind kLastBinaryKind = BinaryKind::kRemainder;

enum class UnaryKind : uint8_t {
  kNeg,
  kAbs,
  kSign,
  kSquare,
  kSqrt,
  kRsqrt,
  kRecip,
  kExp,
  kLn,
  kLog1p,     ///< ln(1 + x)
  kExpm1,     ///< e^x - 1
  kSoftplus,  ///< ln(1 + e^x)
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kSigmoid,
  kErf,
  kSilu,
  kGeluApprox,
  kHardSwish,
  kLeakyRelu,  ///< multiplies negative elements by `alpha`
  kFloor,
  kCeil,
  kRound,      ///< half away from zero
  kRoundEven,  ///< half to even
  kNot,        ///< of bool
  kBitNot,
  kIsNan,  ///< gives bool
  kIsInf,  ///< gives bool; `alpha` has bit 1 set for +infinity, bit 2 for -infinity
};

enum class ReduceKind : uint8_t { kSum, kProduct, kMin, kMax, kArgMin, kArgMax, kAny, kAll };

inline bool is_arithmetic(BinaryKind kind) { return kind <= BinaryKind::kHypot; }
/// Return whether a kind is `kAtan2`, `kFmod` or `kRemainder`, which only floats have.
inline bool is_function_of_floats(BinaryKind kind) { return kind >= BinaryKind::kAtan2; }
inline bool is_comparison(BinaryKind kind) {
  return kind >= BinaryKind::kEq && kind <= BinaryKind::kGe;
}
inline bool is_test(UnaryKind kind) {
  return kind == UnaryKind::kIsNan || kind == UnaryKind::kIsInf;
}
inline bool is_arg(ReduceKind kind) {
  return kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax;
}
inline bool is_truth(ReduceKind kind) {
  return kind == ReduceKind::kAny || kind == ReduceKind::kAll;
}

}  // namespace rill::ops
