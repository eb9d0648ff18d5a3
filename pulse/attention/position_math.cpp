#include "pulse/attention/position_math.h"

#include <cmath>
#include <limits>

#include "core/tensor/visit_number.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/range.h"
#include "ops/array/reshape.h"
#include "ops/array/trilu.h"
#include "ops/math/binary.h"
#include "ops/math/cumsum.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"
#include "pulse/attention/parts.h"

namespace rill::pulse {
namespace {

constexpr double kMostShift = 16;
/// Doubles hold whole numbers up to here.
constexpr double kMostWhole = 9007199254740992.0;

/// A number as a wire of that type holds it; nothing where integers wrap.
std::optional<double> held(double value, DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kBool:
      return value;
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kF16:
      return static_cast<double>(f32_from_f16(f16_from_f32(static_cast<float>(value))));
    case DType::kBF16:
      return static_cast<double>(f32_from_bf16(bf16_from_f32(static_cast<float>(value))));
    default:
      break;
  }
  if (!(std::abs(value) <= kMostWhole)) return std::nullopt;
  bool fits = dtype == DType::kDim;
  visit_one_of<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t>(
      dtype, [&](auto zero) {
        using T = decltype(zero);
        fits = value >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
               value <= static_cast<double>(std::numeric_limits<T>::max());
      });
  return fits ? std::optional(value) : std::nullopt;
}

std::optional<double> binary_of(ops::BinaryKind kind, double a, double b, DType dtype) {
  switch (kind) {
    case ops::BinaryKind::kAdd:
      return a + b;
    case ops::BinaryKind::kSub:
      return a - b;
    case ops::BinaryKind::kMul:
      return a * b;
    case ops::BinaryKind::kDiv:
      if (b == 0.0) return std::nullopt;
      if (dtype == DType::kDim) return std::floor(a / b);
      return is_int(dtype) ? std::trunc(a / b) : a / b;
    case ops::BinaryKind::kMin:
      return std::min(a, b);
    case ops::BinaryKind::kMax:
      return std::max(a, b);
    case ops::BinaryKind::kEq:
      return a == b ? 1.0 : 0.0;
    case ops::BinaryKind::kNe:
      return a != b ? 1.0 : 0.0;
    case ops::BinaryKind::kLt:
      return a < b ? 1.0 : 0.0;
    case ops::BinaryKind::kLe:
      return a <= b ? 1.0 : 0.0;
    case ops::BinaryKind::kGt:
      return a > b ? 1.0 : 0.0;
    case ops::BinaryKind::kGe:
      return a >= b ? 1.0 : 0.0;
    case ops::BinaryKind::kAnd:
      return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
    case ops::BinaryKind::kOr:
      return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
    case ops::BinaryKind::kXor:
      return (a != 0.0) != (b != 0.0) ? 1.0 : 0.0;
    case ops::BinaryKind::kPow:
      return std::pow(a, b);
    case ops::BinaryKind::kShr:
      return b >= 0 && b < kMostShift
                 ? std::optional(std::floor(std::ldexp(a, -static_cast<int>(b))))
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<double> unary_of(ops::UnaryKind kind, double a) {
  switch (kind) {
    case ops::UnaryKind::kNeg:
      return -a;
    case ops::UnaryKind::kAbs:
      return std::abs(a);
    case ops::UnaryKind::kFloor:
      return std::floor(a);
    case ops::UnaryKind::kCeil:
      return std::ceil(a);
    case ops::UnaryKind::kNot:
      return a == 0.0 ? 1.0 : 0.0;
    case ops::UnaryKind::kExp:
      return std::exp(a);
    case ops::UnaryKind::kSquare:
      return a * a;
    case ops::UnaryKind::kSqrt:
      return std::sqrt(a);
    case ops::UnaryKind::kLn:
      return std::log(a);
    default:
      return std::nullopt;
  }
}

}  // namespace

PositionOp::PositionOp(const Op& op)
    : constant(op.as<Const>()),
      range(op.as<ops::Range>()),
      sum(op.as<ops::CumSum>()),
      part(op.as<ops::Trilu>()),
      cast(op.as<ops::Cast>()),
      unary(op.as<ops::Unary>()),
      binary(binary_of(op)),
      chooses(op.as<ops::Select>() != nullptr),
      moves(op.as<ops::AddAxis>() || op.as<ops::RmAxis>() || op.as<ops::Transpose>() ||
            op.as<ops::Broadcast>() || op.as<ops::Reshape>()) {}

std::optional<double> number_of(const PositionOp& op, DType read, DType made,
                                std::span<const double> in) {
  std::optional<double> out;
  if (op.cast) {
    if (op.cast->to == DType::kBool) return in[0] != 0.0 ? 1.0 : 0.0;
    out = is_float(op.cast->to) ? in[0] : std::trunc(in[0]);
  } else if (op.unary) {
    out = unary_of(op.unary->kind_of, in[0]);
  } else if (op.binary && in.size() == 2) {
    out = binary_of(op.binary->kind_of, in[0], in[1], read);
  }
  return out && !std::isnan(*out) ? held(*out, made) : std::nullopt;
}

}  // namespace rill::pulse
