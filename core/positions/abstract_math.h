#pragma once

#include <optional>
#include <vector>

#include "core/graph/course.h"
#include "core/positions/positions.h"

namespace rill {

/// Return the join (union of bounds) of two tails.
PositionBound either(const PositionBound& a, const PositionBound& b);
/// Return whether both have the same growth.
bool parallel(const PositionBound& a, const PositionBound& b);

/// Arithmetic on abstract values of wires of one place. A function returns nothing if the result is
/// unknown.
class AbstractMath {
 public:
  using Abstract = AbstractValue;
  AbstractMath(Square at, int64_t period)
      : period_(period), one_position_(at.row < 0 || at.column < 0) {}

  /// Return a abstract value that recurs with every position, bounded by `low` and `high`.
  static Abstract constant(double low, double high, bool exact);

  static Abstract number(double value);

  /// start + step * position.
  Abstract counted(Square at, double start, double step) const;

  /// a + sign * b.
  std::optional<Abstract> added(const Abstract& a, const Abstract& b, double sign) const;

  /// a * by.
  std::optional<Abstract> times(const Abstract& a, double by) const;

  /// a / by, rounded as the type of a does.
  std::optional<Abstract> divided(const Abstract& a, double by, DType dtype) const;

  /// Of values that recur along the diagonal, whatever is made of them element by element recurs.
  std::optional<Abstract> recurring(const std::vector<Abstract>& in, PositionBound before,
                                  PositionBound behind) const;
  std::optional<Abstract> recurring(const std::vector<Abstract>& in) const;

  /// Both, or one of two conditions.
  std::optional<Abstract> joined_conditions(const std::vector<Abstract>& in, bool both) const;

  /// Rounds to whole numbers: down, or, where `to_zero`, towards 0.
  std::optional<Abstract> rounded(const Abstract& x, bool to_zero) const;

  /// On which side of 0 it lies on each side of the diagonal, as 1 and -1; 0 where that varies.
  struct Signs {
    int before = 0;
    int behind = 0;
    int ever = 0;  ///< of one position, from `settled` on
    int64_t apart = 0;
    int64_t settled = 0;
  };
  std::optional<Signs> signs_of(const Abstract& e) const;

  /// Whether a - b is larger than 0, or any other comparison with 0.
  std::optional<Abstract> comparison(const Abstract& a, const Abstract& b,
                                     Course::Function kind) const;

  /// The larger one, or the smaller one.
  std::optional<Abstract> extreme(const Abstract& a, const Abstract& b, bool largest) const;

  /// Return a abstract value equal to `winner` from `out.settled` on, and bounded by the join of
  /// the two before it.
  Abstract won(Abstract out, const Abstract& winner, const Abstract& loser,
               const Abstract& apart) const;

  /// Return a abstract value with the common properties of both: where they hold, and whether
  /// floats represent them exactly.
  Abstract joined(const Abstract& a, const Abstract& b) const;
  bool one_position() const { return one_position_; }

 private:
  /// Nothing where floats round what grows with both positions: it differs from query to query.
  std::optional<Abstract> known(const Abstract& x) const;

  int64_t period_;
  bool one_position_;
};

}  // namespace rill
