#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/positions/element.h"
#include "core/positions/square.h"
#include "core/positions/table.h"

namespace rill {

/// Values of a wire for keys from `from` up to the next run: `value + slope * (key - from)`. NaN is
/// an unknown value.
struct KeyRun {
  int64_t from = 0;
  double value = 0;
  double slope = 0;
  double at(int64_t key) const {
    return slope == 0.0 ? value : value + slope * static_cast<double>(key - from);
  }
};
using KeyRuns = std::vector<KeyRun>;

/// Append a run; merge it with the last run if both are on one line.
void append_run(KeyRuns* runs, KeyRun run);

/// An unknown number in tables and registers.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Bounds of a wire on one side of the diagonal: its value at query i and key j is in [b + `low`, b
/// + `high`], with b = (row * i + column * j) / period.
struct PositionBound {
  double row = 0;
  double column = 0;
  double low = 0;
  double high = 0;
  /// Return the bound of a wire whose growth along rows and columns is unknown.
  static PositionBound unknown() {
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    return {kUnknown, kUnknown, -kEndless, kEndless};
  }
};

/// Bounds of a wire of positions that hold at all positions, in steps of a period.
struct AbstractValue {
  PositionBound before;  ///< i - j >= least_distance: from i to i + period, the value grows by
                         ///< before.row
  PositionBound after;   ///< j - i >= least_distance: from j to j + period, it grows by
                         ///< after.column
  int64_t least_distance = 0;
  double per_period = 0;       ///< growth of the value if both positions grow by a period
  int64_t settled = 0;    ///< the position from which these bounds hold
  bool exact = true;      ///< floats represent the values without rounding
  bool quotient = false;  ///< an integer divided by another: rounding it down is exact
  bool is_known_before() const { return !std::isnan(before.row); }
  bool is_known_after() const { return !std::isnan(after.column); }
};

/// A number by which a wire is divided or multiplied before it is rounded to an integer: the
/// rounded quotient is the same for many keys.
struct PositionQuotient {
  const PositionOp* divides = nullptr;
  double by = 1;
  OutletId of;  ///< the wire that is divided
  Square square;
  std::optional<double> at(double number) const;
};

/// Computes wires that depend only on positions: the value at query i and key j is a function of i
/// and j, composed of the functions that operators declare (`Op::course`). There are three
/// interpretations: for one pair of positions (`value`), for all keys of one query (`row`), and
/// abstractly for all queries and keys (`abstract`): between lines on either side of the diagonal,
/// in steps of a period. The abstract value proves that the rows of one period determine all
/// others.
class Positions {
 public:
  Positions(const Graph& graph, std::string_view symbol);

  /// Return the value for query i and key j; nothing if an operator is unknown.
  std::optional<double> value(OutletId outlet, Square at, int64_t i, int64_t j) const;
  /// Return the values for one query and keys 0 to keys - 1. The number of keys must be the same in
  /// all calls. Null if that exceeds the work allowed for a mask; `gave_up()` is then true.
  const KeyRuns* row(OutletId outlet, Square at, int64_t query, int64_t keys);
  bool gave_up() const { return work_ <= 0; }
  /// Return the abstract value of a wire, derived from its operators; nothing if they do not
  /// determine one. The period must be the same in all calls.
  std::optional<AbstractValue> abstract(OutletId outlet, Square at, int64_t period);
  /// Return the abstract value of `value > with`. It is unknown on the sides of the diagonal on
  /// which that of the value is.
  std::optional<AbstractValue> compared(OutletId outlet, Square at, int64_t period, double with);
  /// Walk upstream from a wire whose abstract value was requested, and return the first node whose
  /// abstract value is unknown.
  const Node& end_of_walk(OutletId outlet, Square at) const;
  /// Make `period` a multiple of all divisors of positions upstream of a wire.
  void collect_period(OutletId outlet, Square at, int64_t* period) const;

 private:
  using Place = std::pair<OutletId, Square>;

  /// A wire with its axes of positions, and its inputs: built once, evaluated for many positions.
  struct Entry {
    explicit Entry(PositionOp of) : op(std::move(of)) {}
    PositionOp op;
    bool known = false;
    std::vector<Square> inputs;
    std::optional<double> constant;
    std::optional<PositionTable> table;
    bool chosen_by_position = false;  ///< for a selection: no branch depends on values of inputs
    std::vector<double> seen;  ///< values of a wire that depends on one position, computed on
                               ///< request
    std::vector<char> asked;
    int64_t row_of = -1;  ///< the query of `runs`; 0 if they are valid for all queries
    KeyRuns runs;
    bool abstract_known = false;
    std::optional<AbstractValue> abstract;
  };

  /// As `value`; NaN if the value is unknown.
  double number(OutletId outlet, Square at, int64_t i, int64_t j) const;
  double compute(const Entry& own, OutletId outlet, Square at, int64_t i, int64_t j) const;
  static double counted(const Entry& own, Square at, int64_t i, int64_t j);
  double chosen_number(const Node& node, const Entry& own, int64_t i, int64_t j) const;
  std::optional<double> summed(const Node& node, const Course& sum, Square at, int64_t i,
                               int64_t j) const;
  const Node& node_of(OutletId outlet) const { return graph_.node(outlet.node); }
  Entry& entry(OutletId outlet, Square at) const;
  /// Return whether a node multiplies by 0: exporters write constants with the shape of the scores
  /// in this form.
  bool is_times_zero(const Node& node, const Entry& own) const;
  bool too_deep(OutletId outlet) const { return too_deep_[static_cast<size_t>(outlet.node)] != 0; }
  std::vector<Place> parts_of(const Place& place) const;
  std::optional<PositionQuotient> quotient_of(const Place& place) const;
  /// Return the wires from which `make_row` computes a row of a wire.
  std::vector<Place> parts_of_row(const Place& place) const;

  void make_row(const Place& place, int64_t query, int64_t keys, KeyRuns* out);
  void combine_rows(const Node& node, const Entry& own, const std::vector<const KeyRuns*>& in,
                    const PositionQuotient* quotient, int64_t keys, KeyRuns* out);
  std::optional<AbstractValue> abstract_of(const Place& place, int64_t period) const;
  std::optional<AbstractValue> abstract_of_numbers(const Place& place, int64_t period) const;
  std::optional<AbstractValue> pointwise(const Place& place, int64_t period,
                                          const std::vector<AbstractValue>& in) const;
  std::optional<AbstractValue> curved(const Place& place, int64_t period) const;
  std::optional<AbstractValue> chosen(const Place& place, int64_t period,
                                       const std::vector<AbstractValue>& in) const;

  const Graph& graph_;
  std::string_view symbol_;
  std::vector<char> too_deep_;  ///< by node: whether it exceeds the depth or size of the analysis
  int64_t work_;                ///< the number of values that may still be computed for rows
  mutable std::map<Place, Entry> entries_;
};

/// Return the number that a cumulative sum adds at each position; nothing if it varies.
std::optional<double> summed_number(const Graph& graph, const Node& sum);

}  // namespace rill
