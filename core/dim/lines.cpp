#include "core/dim/lines.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/base/checked.h"
#include "core/dim/quotient.h"

namespace rill {
namespace {

using Kind = DimAtom::Kind;
using Number = std::optional<int64_t>;

Number product(Number a, Number b) { return a && b ? checked_mul(*a, *b) : std::nullopt; }
Number sum(Number a, Number b) { return a && b ? checked_add(*a, *b) : std::nullopt; }

enum class Side : uint8_t { kLow, kHigh };

Side opposite(Side side) { return side == Side::kLow ? Side::kHigh : Side::kLow; }

/// A linear function of variables >= 0, with exact fractions as factors. After an overflow it has
/// no value.
class Line {
 public:
  explicit Line(int64_t constant) : constant_(constant) {}
  static Line of(std::string_view variable) {
    Line out(0);
    out.slopes_[variable] = 1;
    return out;
  }
  static Line unknown() {
    Line out(0);
    out.over_ = std::nullopt;
    return out;
  }

  bool valid() const {
    const auto is_there = [](const auto& slope) { return slope.second.has_value(); };
    return over_ && constant_ && std::all_of(slopes_.begin(), slopes_.end(), is_there);
  }

  Line times(int64_t by) const {
    return mapped([&](Number number) { return product(number, by); });
  }
  Line over(int64_t divisor) const {
    Line out = *this;
    out.over_ = product(over_, divisor);
    return out;
  }
  Line plus(const Line& other) const { return merged(other, sum); }
  /// Return a line that lies on the given side of both lines at all points.
  Line beyond(const Line& other, Side side) const {
    return merged(other, [&](Number a, Number b) -> Number {
      if (!a || !b) return std::nullopt;
      return side == Side::kLow ? std::min(*a, *b) : std::max(*a, *b);
    });
  }
  /// Return whether the line is >= the other line at the point where all variables are 0.
  bool starts_above(const Line& other) const {
    const Line apart = plus(other.times(-1));
    return apart.valid() && *apart.constant_ >= 0;
  }
  /// Return whether every integer on or above the line is >= 0.
  bool is_above_minus_one() const {
    return valid() && never_falls() && *constant_ > -*over_;
  }
  /// Round a constant that bounds an integer: up for a lower bound, down for an upper bound.
  Line rounded(Side side) const {
    if (!slopes_.empty() || !valid()) return *this;
    const int64_t down = floored_quotient(*constant_, *over_);
    const bool exact = *constant_ % *over_ == 0;
    return Line(side == Side::kHigh || exact ? down : down + 1);
  }

 private:
  bool never_falls() const {
    return std::all_of(slopes_.begin(), slopes_.end(),
                       [](const auto& slope) { return *slope.second >= 0; });
  }

  template <class Map>
  Line mapped(const Map& map) const {
    Line out = *this;
    out.constant_ = map(constant_);
    for (auto& [variable, slope] : out.slopes_) slope = map(slope);
    return out;
  }

  /// Merge two lines factor by factor, over a common denominator.
  template <class Merge>
  Line merged(const Line& other, const Merge& merge) const {
    if (!valid() || !other.valid()) return unknown();
    const int64_t common = std::gcd(*over_, *other.over_);
    const Line a = times(*other.over_ / common);
    const Line b = other.times(*over_ / common);
    Line out = a;
    out.over_ = product(over_, *other.over_ / common);
    out.constant_ = merge(a.constant_, b.constant_);
    for (const auto& [variable, slope] : b.slopes_) out.slopes_.try_emplace(variable, 0);
    for (auto& [variable, slope] : out.slopes_) {
      const auto at = b.slopes_.find(variable);
      slope = merge(slope, at == b.slopes_.end() ? 0 : at->second);
    }
    std::erase_if(out.slopes_, [](const auto& each) { return each.second == 0; });
    return out;
  }

  Number over_ = 1;  ///< the positive denominator of all factors
  Number constant_;
  std::map<std::string_view, Number> slopes_;
};

Line bound(const Dim& dim, Side side);

/// Return a bound of the maximum or the minimum of expressions.
Line extreme(const std::vector<Dim>& args, bool greatest, Side side) {
  Line out = bound(args[0], side);
  for (size_t i = 1; i < args.size(); ++i) {
    const Line other = bound(args[i], side);
    if (greatest != (side == Side::kLow)) {
      out = out.beyond(other, side);
      continue;
    }
    // The maximum is above each operand, so any of them is a lower bound. Take the one that is
    // larger at 0: most expressions that can be negative are negative near 0.
    const bool better = greatest ? other.starts_above(out) : out.starts_above(other);
    if (better || !out.valid()) out = other;
  }
  return out;
}

Line bound(const DimAtom& atom, Side side) {
  switch (atom.kind) {
    case Kind::kSymbol:
      return Line::of(atom.text);
    case Kind::kDiv: {
      const Line whole = bound(atom.args[0], side);
      if (side == Side::kHigh) return whole.over(atom.divisor).rounded(side);
      return whole.plus(Line(1 - atom.divisor)).over(atom.divisor).rounded(side);
    }
    case Kind::kMin:
    case Kind::kMax:
      return extreme(atom.args, atom.kind == Kind::kMax, side);
    case Kind::kBroadcast:  // the result is one of the operands
      return extreme(atom.args, side == Side::kHigh, side);
    case Kind::kGe:
    case Kind::kEq:
      return Line(side == Side::kHigh ? 1 : 0);
    default:
      return Line::unknown();
  }
}

Line bound(const DimTerm& term, Side side) {
  const Side own = term.coefficient < 0 ? opposite(side) : side;
  if (term.factors.size() == 1) return bound(*term.factors[0], own).times(term.coefficient);
  // A product of factors that are all >= 0 is treated as a variable.
  for (const auto& factor : term.factors) {
    if (!bound(*factor, Side::kLow).is_above_minus_one()) return Line::unknown();
  }
  return Line::of(term.key).times(term.coefficient);
}

Line bound(const Dim& dim, Side side) {
  if (const auto number = dim.to_int()) return Line(*number);
  Line total(dim.sum()->constant);
  for (const DimTerm& term : dim.sum()->terms) total = total.plus(bound(term, side));
  return total.rounded(side);
}

}  // namespace

bool never_negative(const Dim& dim) {
  return dim.valid() && bound(dim, Side::kLow).is_above_minus_one();
}

}  // namespace rill
