#include "core/positions/abstract_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rill {
namespace {

using Abstract = AbstractValue;
using Function = Course::Function;
using Tail = PositionBound;

constexpr double kEndless = std::numeric_limits<double>::infinity();
/// The last position of the analysis; masks that still change after it are refused.
constexpr double kLatest = 1 << 24;
/// A sum of rounded floats exceeds the exact sum by less than this factor.
constexpr double kSlack = 1.001;

bool is_whole(double value) { return std::trunc(value) == value; }

/// Return whether floats represent a number and its small multiples without rounding.
bool is_exact(double value) {
  const double scaled = value * 65536.0;
  return is_whole(scaled) && std::abs(scaled) <= 65536.0 * 65536.0;
}

Tail flat(double low, double high) { return {0, 0, low, high}; }

double total(double a, double b, double otherwise) { return std::isnan(a + b) ? otherwise : a + b; }

Tail sum(const Tail& a, const Tail& b, double sign) {
  const double low = sign > 0 ? b.low : -b.high;
  const double high = sign > 0 ? b.high : -b.low;
  return {a.row + sign * b.row, a.column + sign * b.column, total(a.low, low, -kEndless),
          total(a.high, high, kEndless)};
}

Tail scaled(const Tail& a, double by) {
  // An infinite bound times 0 is NaN, but a finite value times 0 is 0.
  const double low = by == 0.0 ? 0.0 : a.low * by;
  const double high = by == 0.0 ? 0.0 : a.high * by;
  return {a.row * by, a.column * by, std::min(low, high), std::max(low, high)};
}

/// Return the position from which a value that grows by `growth` per period exceeds all its noise.
std::optional<int64_t> passes(const Tail& tail, double growth, int64_t period) {
  const double noise = std::max(std::abs(tail.low), std::abs(tail.high));
  const double from = kSlack * noise * static_cast<double>(period) / std::abs(growth) + 1;
  return from <= kLatest ? std::optional(static_cast<int64_t>(from) + 1) : std::nullopt;
}

}  // namespace

PositionBound either(const PositionBound& a, const PositionBound& b) {
  return {a.row, a.column, std::min(a.low, b.low), std::max(a.high, b.high)};
}

bool parallel(const PositionBound& a, const PositionBound& b) {
  return a.row == b.row && a.column == b.column;
}

Abstract AbstractMath::number(double value) { return constant(value, value, is_exact(value)); }

Abstract AbstractMath::constant(double low, double high, bool exact) {
  Abstract out;
  out.before = out.after = flat(low, high);
  out.exact = exact;
  return out;
}

Abstract AbstractMath::counted(Square at, double start, double step) const {
  Abstract out = constant(start, start, is_exact(start) && is_exact(step));
  out.per_period = step * static_cast<double>(period_);
  (at.row >= 0 ? out.before.row : out.before.column) = out.per_period;
  (at.row >= 0 ? out.after.row : out.after.column) = out.per_period;
  return out;
}

std::optional<Abstract> AbstractMath::added(const Abstract& a, const Abstract& b,
                                            double sign) const {
  // Rounding may differ from query to query, unless a value is the same for all queries.
  const auto rough = [](const Abstract& x) { return !x.exact && x.per_period != 0.0; };
  const auto grows = [](const Abstract& x) { return x.per_period != 0.0; };
  if ((rough(a) && grows(b)) || (rough(b) && grows(a))) return std::nullopt;
  Abstract out = joined(a, b);
  out.before = sum(a.before, b.before, sign);
  out.after = sum(a.after, b.after, sign);
  out.per_period = a.per_period + sign * b.per_period;
  // The difference of rounded values with the same growth is not the same everywhere.
  const auto cancels = [](double one, double all) { return one != 0.0 && all == 0.0; };
  if (!out.exact &&
      (cancels(a.before.row, out.before.row) || cancels(a.after.column, out.after.column))) {
    return std::nullopt;
  }
  return known(out);
}

std::optional<Abstract> AbstractMath::times(const Abstract& a, double by) const {
  Abstract out = a;
  out.before = scaled(a.before, by);
  out.after = scaled(a.after, by);
  out.per_period = a.per_period * by;
  out.exact = a.exact && is_exact(by);
  out.quotient = false;
  return known(out);
}

std::optional<Abstract> AbstractMath::recurring(const std::vector<Abstract>& in, Tail before,
                                                Tail after) const {
  Abstract out;
  out.before = before;
  out.after = after;
  out.exact = false;
  for (const Abstract& x : in) {
    if (x.per_period != 0.0) return std::nullopt;
    if (x.before.row != 0.0) out.before = Tail::unknown();
    if (x.after.column != 0.0) out.after = Tail::unknown();
    out.least_distance = std::max(out.least_distance, x.least_distance);
    out.settled = std::max(out.settled, x.settled);
  }
  return out;
}

std::optional<Abstract> AbstractMath::recurring(const std::vector<Abstract>& in) const {
  return recurring(in, flat(-kEndless, kEndless), flat(-kEndless, kEndless));
}

std::optional<Abstract> AbstractMath::joined_conditions(const std::vector<Abstract>& in,
                                                        bool both) const {
  const auto tail = [&](const Tail& a, const Tail& b) {
    const auto least = [](const Tail& t) { return t.low > 0 ? 1.0 : 0.0; };
    const auto most = [](const Tail& t) { return t.high <= 0 && t.low >= 0 ? 0.0 : 1.0; };
    return both ? flat(std::min(least(a), least(b)), std::min(most(a), most(b)))
                : flat(std::max(least(a), least(b)), std::max(most(a), most(b)));
  };
  return recurring(in, tail(in[0].before, in[1].before), tail(in[0].after, in[1].after));
}

std::optional<Abstract> AbstractMath::rounded(const Abstract& x, bool to_zero) const {
  const auto steady = [&](double growth) {
    return growth == 0.0 || (is_whole(growth) && (x.exact || x.quotient));
  };
  if (!steady(x.per_period) || !steady(x.before.row) || !steady(x.after.column))
    return std::nullopt;
  Abstract out = x;
  const auto positive = [](const Tail& t) { return t.low >= 0 && t.row >= 0 && t.column >= 0; };
  if (to_zero && !(positive(x.before) && positive(x.after))) {
    const auto signs = signs_of(x);
    if (!signs) return std::nullopt;
    out.least_distance = signs->least_distance;
    out.settled = signs->settled;
  }
  for (Tail* tail : {&out.before, &out.after}) {
    tail->low -= 1;
    tail->high += 1;
  }
  out.exact = true;
  out.quotient = false;
  return out;
}

std::optional<AbstractMath::Signs> AbstractMath::signs_of(const Abstract& e) const {
  Signs out;
  out.least_distance = e.least_distance;
  out.settled = e.settled;
  const auto side = [&](const Tail& tail, double growth, double other, int* sign) {
    if (growth == 0.0) {
      const double value = tail.row == 0.0 && tail.column == 0.0 ? 1.0 : 0.0;
      if (value != 0.0 && (tail.low > 0 || tail.high < 0)) *sign = tail.low > 0 ? 1 : -1;
      return true;
    }
    const auto from = (growth + other) * growth >= 0 ? passes(tail, growth, period_) : std::nullopt;
    if (!from) return false;
    out.least_distance = std::max(out.least_distance, *from);
    *sign = growth > 0 ? 1 : -1;
    return true;
  };
  if (!side(e.before, e.before.row, e.before.column, &out.before) ||
      !side(e.after, e.after.column, e.after.row, &out.after)) {
    return std::nullopt;
  }
  if (e.per_period == 0.0) return out;
  const auto from = one_position_ ? passes(e.before, e.per_period, period_) : std::nullopt;
  if (!from) return std::nullopt;
  out.settled = std::max(out.settled, *from);
  out.least_distance = std::max(out.least_distance, out.settled);
  out.ever = e.per_period > 0 ? 1 : -1;
  return out;
}

std::optional<Abstract> AbstractMath::comparison(const Abstract& a, const Abstract& b,
                                          Course::Function kind) const {
  const auto e = added(a, b, -1);
  const auto signs = e ? signs_of(*e) : std::nullopt;
  if (!signs) return std::nullopt;
  const auto tail = [&](int sign, const Tail& difference) {
    const bool equal = difference.low == 0.0 && difference.high == 0.0 && difference.row == 0.0 &&
                       difference.column == 0.0;
    if (equal && e->per_period == 0.0) {
      const bool holds = kind == Function::kEq || kind == Function::kGe ||
                         kind == Function::kLe;
      return holds ? flat(1, 1) : flat(0, 0);
    }
    // A comparison that holds for large positions need not hold for small ones.
    if (sign == 0 || e->per_period != 0.0) return flat(0, 1);
    const bool holds = sign > 0 ? kind == Function::kGt || kind == Function::kGe
                                : kind == Function::kLt || kind == Function::kLe;
    const double value = holds || kind == Function::kNe ? 1 : 0;
    return flat(value, value);
  };
  Abstract out;
  out.before = tail(signs->before, e->before);
  out.after = tail(signs->after, e->after);
  out.least_distance = signs->least_distance;
  out.settled = signs->settled;
  return out;
}

std::optional<Abstract> AbstractMath::extreme(const Abstract& a, const Abstract& b,
                                              bool largest) const {
  const auto e = added(a, b, -1);
  const auto signs = e ? signs_of(*e) : std::nullopt;
  if (!signs) return std::nullopt;
  Abstract out = joined(a, b);
  out.least_distance = signs->least_distance;
  out.settled = signs->settled;
  if (e->per_period != 0.0) {
    // Until positions settle, the loser may win; the bounds of the winner account for that.
    const bool first = (signs->ever > 0) == largest;
    return won(out, first ? a : b, first ? b : a, *e);
  }
  out.per_period = a.per_period;
  const auto tail = [&](int sign, const Tail& of_a, const Tail& of_b, Tail* to) {
    if (sign == 0 && !parallel(of_a, of_b)) return false;
    *to = sign == 0 ? either(of_a, of_b) : (sign > 0) == largest ? of_a : of_b;
    return true;
  };
  const bool is_known = tail(signs->before, a.before, b.before, &out.before) &&
                        tail(signs->after, a.after, b.after, &out.after);
  return is_known ? known(out) : std::nullopt;
}

Abstract AbstractMath::won(Abstract out, const Abstract& winner, const Abstract& loser,
                           const Abstract& difference) const {
  const double slack = std::abs(difference.per_period) * static_cast<double>(out.settled) /
                       static_cast<double>(period_);
  out.before = winner.before;
  out.before.low = std::min(winner.before.low, loser.before.low - slack);
  out.before.high = std::max(winner.before.high, loser.before.high + slack);
  out.after = out.before;
  out.per_period = winner.per_period;
  out.least_distance = std::max(out.least_distance, out.settled);
  return out;
}

Abstract AbstractMath::joined(const Abstract& a, const Abstract& b) const {
  Abstract out;
  out.least_distance = std::max(a.least_distance, b.least_distance);
  out.settled = std::max(a.settled, b.settled);
  out.exact = a.exact && b.exact;
  return out;
}

std::optional<Abstract> AbstractMath::known(const Abstract& x) const {
  return !x.exact && x.per_period != 0.0 && !one_position_ ? std::nullopt : std::optional(x);
}

std::optional<Abstract> AbstractMath::divided(const Abstract& x, double by, DType dtype) const {
  if (by == 0.0 || !std::isfinite(by)) return std::nullopt;
  Abstract whole = x;
  const bool power = is_exact(by) && is_exact(1.0 / by);
  // Growth by a multiple of the divisor gives an integer, however 1 / by is rounded.
  for (double* growth : {&whole.per_period, &whole.before.row, &whole.before.column,
                         &whole.after.row, &whole.after.column}) {
    *growth /= by;
  }
  for (Tail* tail : {&whole.before, &whole.after}) {
    const double low = tail->low / by;
    const double high = tail->high / by;
    tail->low = std::min(low, high);
    tail->high = std::max(low, high);
  }
  whole.exact = x.exact && power;
  whole.quotient = x.exact && is_whole(by) && is_whole(x.before.low) && is_whole(x.before.high);
  if (is_float(dtype)) {
    if (!whole.exact && whole.per_period != 0.0 && !one_position_) return std::nullopt;
    return whole;
  }
  whole.exact = true;
  return rounded(whole, dtype != DType::kDim);
}

}  // namespace rill
