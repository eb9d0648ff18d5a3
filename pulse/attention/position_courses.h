#pragma once

#include <optional>
#include <vector>

#include "ops/math/binary.h"
#include "pulse/attention/position_values.h"

namespace rill::pulse {

/// What is one of both.
PositionTail either(const PositionTail& a, const PositionTail& b);
/// Tell whether both grow alike.
bool parallel(const PositionTail& a, const PositionTail& b);

/// Computes with courses of wires of one place. Nothing where how a result goes on is not told.
class Courses {
 public:
  using Course = PositionCourse;
  Courses(Square at, int64_t period)
      : period_(period), one_position_(at.row < 0 || at.column < 0) {}

  /// What recurs with every position, between two numbers.
  static Course constant(double low, double high, bool exact);

  static Course number(double value);

  /// start + step * position.
  Course counted(Square at, double start, double step) const;

  /// a + sign * b.
  std::optional<Course> added(const Course& a, const Course& b, double sign) const;

  /// a * by.
  std::optional<Course> times(const Course& a, double by) const;

  /// a / by, rounded as the type of a does.
  std::optional<Course> divided(const Course& a, double by, DType dtype) const;

  /// Of values that recur along the diagonal, whatever is made of them element by element recurs.
  std::optional<Course> recurring(const std::vector<Course>& in, PositionTail before,
                                  PositionTail behind) const;
  std::optional<Course> recurring(const std::vector<Course>& in) const;

  /// Both, or one of two conditions.
  std::optional<Course> joined_conditions(const std::vector<Course>& in, bool both) const;

  /// Rounds to whole numbers: down, or, where `to_zero`, towards 0.
  std::optional<Course> rounded(const Course& x, bool to_zero) const;

  /// On which side of 0 it lies on each side of the diagonal, as 1 and -1; 0 where that varies.
  struct Signs {
    int before = 0;
    int behind = 0;
    int ever = 0;  ///< of one position, from `settled` on
    int64_t apart = 0;
    int64_t settled = 0;
  };
  std::optional<Signs> signs_of(const Course& e) const;

  /// Whether a - b is larger than 0, or any other comparison with 0.
  std::optional<Course> comparison(const Course& a, const Course& b, ops::BinaryKind kind) const;

  /// The larger one, or the smaller one.
  std::optional<Course> extreme(const Course& a, const Course& b, bool largest) const;

  /// What goes on as `winner` does from `out.settled` on; before, it is one of both.
  Course won(Course out, const Course& winner, const Course& loser, const Course& apart) const;

  /// What is known of both: from where on they hold, and whether floats hold them.
  Course joined(const Course& a, const Course& b) const;
  bool one_position() const { return one_position_; }

 private:
  /// Nothing where floats round what grows with both positions: it differs from query to query.
  std::optional<Course> known(const Course& x) const;

  int64_t period_;
  bool one_position_;
};

}  // namespace rill::pulse
