#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/positions/square.h"

namespace rill {

/// A mask from a constant table that is sliced to the length of the stream: one number per query
/// and key. Its period continues past the last row. If only the positions of minus infinity are
/// periodic, the finite numbers are unknown.
class PositionTable {
 public:
  /// Return the table that slices cut along rows and columns. Nothing if it varies along other
  /// axes, or is not periodic.
  static std::optional<PositionTable> of(const Graph& graph, const Node& slice, Square at);

  /// Return the number for a query and a key; NaN if it is unknown.
  double value(int64_t query, int64_t key) const;
  /// Return whether floats represent the numbers, and sums of them, exactly.
  bool exact() const { return exact_; }
  /// Return the period in positions; per period, the values grow by `growth()`.
  int64_t period() const { return period_; }
  double growth() const { return growth_; }
  /// Return a bound on the first values of a table of one position.
  double start() const { return start_; }
  /// Return the distance between query and key beyond which the values on either side are constant.
  int64_t reach() const { return reach_; }

 private:
  double at(int64_t row, int64_t column) const {
    return values_[static_cast<size_t>(row * columns_ + column)];
  }
  double entry(int64_t query, int64_t key) const;
  void find_period();
  bool has_period(int64_t period);
  void find_reach();

  std::vector<double> values_;
  int64_t rows_ = 1;
  int64_t columns_ = 1;
  bool exact_ = true;
  bool only_hides_ = false;  ///< unknown numbers are 0
  bool by_row_ = false;
  bool by_column_ = false;
  int64_t period_ = 0;
  double growth_ = 0;
  double start_ = 0;
  int64_t reach_ = 0;
};

}  // namespace rill
