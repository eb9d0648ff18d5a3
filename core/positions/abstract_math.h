#pragma once

#include <optional>
#include <vector>

#include "core/graph/course.h"
#include "core/positions/positions.h"

namespace rill {

/// Return the join (union of bounds) of two tails.
PositionBound either(const PositionBound& a, const PositionBound& b);
/// Return whether both bounds have the same growth.
bool parallel(const PositionBound& a, const PositionBound& b);

/// Arithmetic on the abstract values of wires at one place of a mask. A function returns nothing if
/// the result is unknown.
class AbstractMath {
 public:
  using Abstract = AbstractValue;
  AbstractMath(Square at, int64_t period)
      : period_(period), one_position_(at.row < 0 || at.column < 0) {}

  /// Return an abstract value that is the same at every position and lies within [`low`, `high`].
  static Abstract constant(double low, double high, bool exact);

  static Abstract number(double value);

  /// Return start + step * position.
  Abstract counted(Square at, double start, double step) const;

  /// Return a + sign * b.
  std::optional<Abstract> added(const Abstract& a, const Abstract& b, double sign) const;

  /// Return a * by.
  std::optional<Abstract> times(const Abstract& a, double by) const;

  /// Return a / by, rounded as in the type of a.
  std::optional<Abstract> divided(const Abstract& a, double by, DType dtype) const;

  /// Return the abstract value of an elementwise function of values that repeat along the diagonal,
  /// so that the result repeats too.
  std::optional<Abstract> recurring(const std::vector<Abstract>& in, PositionBound before,
                                    PositionBound after) const;
  std::optional<Abstract> recurring(const std::vector<Abstract>& in) const;

  /// Return the conjunction or the disjunction of two conditions.
  std::optional<Abstract> joined_conditions(const std::vector<Abstract>& in, bool both) const;

  /// Round to integers: down, or towards 0 if `to_zero`.
  std::optional<Abstract> rounded(const Abstract& x, bool to_zero) const;

  /// The sign of a value on each side of the diagonal, 1 or -1; 0 if it varies.
  struct Signs {
    int before = 0;
    int after = 0;
    int ever = 0;  ///< for values of one position: the sign from `settled`
    int64_t least_distance = 0;
    int64_t settled = 0;
  };
  std::optional<Signs> signs_of(const Abstract& e) const;

  /// Return the comparison `kind` of a - b with 0.
  std::optional<Abstract> comparison(const Abstract& a, const Abstract& b,
                                     Course::Function kind) const;

  /// Return the maximum or minimum of two values.
  std::optional<Abstract> extreme(const Abstract& a, const Abstract& b, bool largest) const;

  /// Return an abstract value that equals `winner` from position `out.settled`, and is bounded by
  /// the join of both before that.
  Abstract won(Abstract out, const Abstract& winner, const Abstract& loser,
               const Abstract& difference) const;

  /// Return an abstract value with the properties that both share: where they hold, and whether
  /// floats represent them exactly.
  Abstract joined(const Abstract& a, const Abstract& b) const;
  bool one_position() const { return one_position_; }

 private:
  /// Return the value; nothing if it grows with both positions and floats round it, because it then
  /// differs from query to query.
  std::optional<Abstract> known(const Abstract& x) const;

  int64_t period_;
  bool one_position_;
};

}  // namespace rill
