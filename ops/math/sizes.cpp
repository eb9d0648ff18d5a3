// Sizes that are computed element by element.

#include <cmath>

#include "core/graph/size_trace.h"
#include "ops/math/binary.h"
#include "ops/math/dims.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

/// Return number / divisor, as a whole size if the division is exact.
std::optional<SizeRatio> reduced(const Dim& number, int64_t divisor) {
  const auto whole = exact_div(number, Dim(divisor));
  return whole ? size_of(*whole) : size_of(number, divisor);
}

/// Return whether one factor is exact in floats, and the other is a constant that is rounded once.
bool is_scaled(const SizeTrace& trace, const SizeRatio& a, const SizeRatio& b) {
  return (a.is_binary() && trace.in_fact(1).konst) || (b.is_binary() && trace.in_fact(0).konst);
}

std::optional<SizeRatio> product_of(const SizeTrace& trace, const SizeRatio& a,
                                    const SizeRatio& b) {
  const auto scales = [](const SizeRatio& by) {
    const auto number = by.number.to_int();
    return number && *number > 0 && (*number & (*number - 1)) == 0 && by.is_binary();
  };
  const bool exact = (a.is_binary() && b.is_binary()) || scales(a) || scales(b);
  if (!exact && !is_scaled(trace, a, b)) return std::nullopt;
  return reduced(a.number * b.number, a.divisor * b.divisor);
}

std::optional<SizeRatio> quotient_of(const SizeRatio& a, const SizeRatio& b) {
  const auto by = b.number.to_int();
  if (!by || *by == 0 || std::abs(*by) > kMostDivisor) return std::nullopt;
  if (!a.is_binary() && !b.is_binary()) return std::nullopt;
  const Dim number = a.number * Dim(*by < 0 ? -b.divisor : b.divisor);
  return reduced(number, a.divisor * std::abs(*by));
}

/// Add or subtract. The sum of two rounded parts may miss a whole number by a bit. With one exact
/// part it does not: where the sum is whole, floats hold the other part, and a rounded product or
/// quotient is exact where floats hold it.
std::optional<SizeRatio> sum_of(const SizeRatio& a, const SizeRatio& b, int64_t sign) {
  if (!a.is_binary() && !b.is_binary()) return std::nullopt;
  const Dim number = a.number * Dim(b.divisor) + Dim(sign) * b.number * Dim(a.divisor);
  return reduced(number, a.divisor * b.divisor);
}

/// Combine floats; nothing if their result may round to another integer than the exact value.
std::optional<SizeRatio> combined_floats(const SizeTrace& trace, BinaryKind kind,
                                         const SizeRatio& a, const SizeRatio& b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return sum_of(a, b, 1);
    case BinaryKind::kSub:
      return sum_of(a, b, -1);
    case BinaryKind::kMul:
      return product_of(trace, a, b);
    case BinaryKind::kDiv:
      return quotient_of(a, b);
    default:
      return std::nullopt;
  }
}

std::optional<Dim> valid(Dim dim) {
  return dim.valid() ? std::optional<Dim>(std::move(dim)) : std::nullopt;
}

std::optional<Dim> combined(BinaryKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case BinaryKind::kGe:
      return valid(ge(a, b));
    case BinaryKind::kGt:
      return valid(ge(a, b + Dim(1)));
    case BinaryKind::kLe:
      return valid(ge(b, a));
    case BinaryKind::kLt:
      return valid(ge(b, a + Dim(1)));
    case BinaryKind::kEq:
      return valid(eq(a, b));
    case BinaryKind::kNe:
      return valid(Dim(1) - eq(a, b));
    case BinaryKind::kAnd:
      return valid(a * b);
    case BinaryKind::kOr:
      return valid(a + b - a * b);
    default: {
      auto out = combine_dims(kind, a, b);
      return out.ok() ? std::optional<Dim>(std::move(out).value()) : std::nullopt;
    }
  }
}

}  // namespace

namespace {

/// Round half up.
Dim rounded_up(const SizeRatio& from) {
  return floor_div(Dim(2) * from.number + Dim(from.divisor), 2 * from.divisor);
}

/// Round half to even.
Dim rounded_even(const SizeRatio& from) {
  const Dim up = rounded_up(from);
  if (from.divisor % 2 != 0) return up;
  const Dim is_half = eq(Dim(2) * from.number + Dim(from.divisor), Dim(2 * from.divisor) * up);
  return up - is_half * (up - Dim(2) * floor_div(up, 2));
}

}  // namespace

std::optional<SizeRatio> Unary::size(const SizeTrace& trace) const {
  const auto from = trace.in(0);
  if (!from) return std::nullopt;
  switch (kind_of) {
    case UnaryKind::kNeg:
      return size_of(-from->number, from->divisor);
    case UnaryKind::kFloor:
      return size_of(floor_div(from->number, from->divisor));
    case UnaryKind::kCeil:
      return size_of(ceil_div(from->number, from->divisor));
    case UnaryKind::kRound:
      if (!trace.scope().proves_ge(from->number, Dim(0))) return std::nullopt;
      return size_of(rounded_up(*from));
    case UnaryKind::kRoundEven:
      return size_of(rounded_even(*from));
    case UnaryKind::kNot:
      return size_of(Dim(1) - from->number);
    default:
      return std::nullopt;
  }
}

namespace {

/// Return the maximum or minimum of two ratios.
std::optional<SizeRatio> limited(BinaryKind kind, const SizeRatio& a, const SizeRatio& b) {
  const auto number = combined(kind, Dim(b.divisor) * a.number, Dim(a.divisor) * b.number);
  return number ? reduced(*number, a.divisor * b.divisor) : std::nullopt;
}

}  // namespace

std::optional<SizeRatio> Binary::size(const SizeTrace& trace) const {
  const auto first = trace.in(0);
  if (!first) return std::nullopt;
  const auto second = trace.in(1);
  if (!second) return std::nullopt;
  const bool floats = is_float(trace.in_type(0));
  const bool arithmetic = kind_of == BinaryKind::kAdd || kind_of == BinaryKind::kSub ||
                          kind_of == BinaryKind::kMul || kind_of == BinaryKind::kDiv;
  if (floats && arithmetic) return combined_floats(trace, kind_of, *first, *second);
  if (floats && kind_of == BinaryKind::kPow) return std::nullopt;
  if (floats && is_limit(kind_of)) return limited(kind_of, *first, *second);
  if (!first->is_whole() || !second->is_whole()) return std::nullopt;
  const Dim by = trace.scope().simplify(second->number);
  const bool divides = kind_of == BinaryKind::kDiv || kind_of == BinaryKind::kFloorDiv;
  if (divides && !by.is_const()) trace.divides(by);
  // Integers round to zero; expressions round down, which is the same if neither operand is
  // negative.
  if (kind_of == BinaryKind::kDiv && trace.in_type(0) != DType::kDim) {
    const auto positive = [&](const Dim& dim) { return trace.scope().proves_ge(dim, Dim(0)); };
    if (!positive(first->number) || !positive(by)) return std::nullopt;
  }
  return size_of(combined(kind_of, first->number, by));
}

std::optional<SizeRatio> Select::size(const SizeTrace& trace) const {
  const auto condition = trace.in(0);
  if (!condition) return std::nullopt;
  const auto yes = trace.in(1);
  if (!yes) return std::nullopt;
  const auto no = trace.in(2);
  if (!no || !condition->is_whole() || !yes->is_whole() || !no->is_whole()) return std::nullopt;
  return size_of(condition->number * (yes->number - no->number) + no->number);
}

}  // namespace rill::ops
