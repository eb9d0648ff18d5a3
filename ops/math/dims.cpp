#include "ops/math/dims.h"

#include <cmath>

#include "ops/array/elements.h"
#include "ops/math/integers.h"

namespace rill::ops {
namespace {

// The maximum number of factors of a power; higher powers are useless as extents.
constexpr int64_t kMaxPower = 8;

std::optional<Dim> combined(BinaryKind kind, const Dim& a, const Dim& b) {
  const auto x = a.to_int();
  const auto y = b.to_int();
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kMin:
      return min(a, b);
    case BinaryKind::kMax:
      return max(a, b);
    case BinaryKind::kDiv:
    case BinaryKind::kFloorDiv:
      if (x && y) return Dim(integer_floor_div(*x, *y));
      if (y && *y > 0) return floor_div(a, *y);
      if (y && *y < 0 && *y != INT64_MIN) return floor_div(-a, -*y);
      return exact_div(a, b);
    case BinaryKind::kPow: {
      if (x && y) return Dim(integer_binary<int64_t>(kind, *x, *y, 64));
      if (!y || *y < 0 || *y > kMaxPower) return std::nullopt;
      Dim power = 1;
      for (int64_t i = 0; i < *y; ++i) power *= a;
      return power;
    }
    default:
      if (x && y) return Dim(integer_binary<int64_t>(kind, *x, *y, 64));
      return std::nullopt;
  }
}

std::optional<bool> proven_equal(const SymbolScope& scope, const Dim& a, const Dim& b) {
  if (a == b || scope.simplify(a - b) == Dim(0)) return true;
  if (scope.proves_ge(a, b + Dim(1)) || scope.proves_ge(b, a + Dim(1))) return false;
  return std::nullopt;
}

std::optional<bool> proven_ge(const SymbolScope& scope, const Dim& a, const Dim& b) {
  if (scope.proves_ge(a, b)) return true;
  if (scope.proves_ge(b, a + Dim(1))) return false;
  return std::nullopt;
}

}  // namespace

Result<Dim> combine_dims(BinaryKind kind, const Dim& a, const Dim& b) {
  const std::optional<Dim> out = combined(kind, a, b);
  if (out && out->valid()) return *out;
  return fail(Code::kSymbol, "the value for ", a, " and ", b, " is open while symbols are unbound");
}

Result<bool> compare_dims(const SymbolScope& scope, BinaryKind kind, const Dim& a, const Dim& b) {
  std::optional<bool> out;
  switch (kind) {
    case BinaryKind::kEq:
      out = proven_equal(scope, a, b);
      break;
    case BinaryKind::kNe:
      out = proven_equal(scope, a, b);
      if (out) out = !*out;
      break;
    case BinaryKind::kGe:
      out = proven_ge(scope, a, b);
      break;
    case BinaryKind::kLe:
      out = proven_ge(scope, b, a);
      break;
    case BinaryKind::kGt:
      out = proven_ge(scope, a, b + Dim(1));
      break;
    default:
      out = proven_ge(scope, b, a + Dim(1));
      break;
  }
  if (out && a.valid() && b.valid()) return *out;
  return fail(Code::kSymbol, "comparing ", a, " with ", b, " is open while symbols are unbound");
}

Status combine_dim_views(const SymbolScope& scope, BinaryKind kind, const View& a, const View& b,
                         const View& out) {
  Status status;
  for_each_element<3>({out, a, b}, [&](const std::array<int64_t, 3>& at) {
    if (!status.ok()) return;
    const Dim& x = a.as<const Dim>()[at[1]];
    const Dim& y = b.as<const Dim>()[at[2]];
    if (is_comparison(kind)) {
      const auto truth = compare_dims(scope, kind, x, y);
      if (!truth.ok()) {
        status = truth.status();
      } else {
        out.as<uint8_t>()[at[0]] = *truth ? 1 : 0;
      }
      return;
    }
    auto value = combine_dims(kind, x, y);
    if (!value.ok()) {
      status = value.take_status();
    } else {
      out.as<Dim>()[at[0]] = std::move(value).value();
    }
  });
  return status;
}

}  // namespace rill::ops
