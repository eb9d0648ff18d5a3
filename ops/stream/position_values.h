#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ops/stream/position_table.h"
#include "ops/stream/square.h"

namespace rill::ops {

/// Computes wires that depend on positions alone, for one query and one key.
class Positions {
 public:
  Positions(const Graph& graph, std::string_view symbol);

  /// The value for query i and key j; nothing if an op is not known here.
  std::optional<double> value(OutletId outlet, Square at, int64_t i, int64_t j) const;
  /// By how much the value grows if both positions grow by `by`; nothing if that is not the same
  /// for all that are far from the beginning.
  std::optional<double> shift(OutletId outlet, Square at, int64_t by) const;
  /// What numbers a wire is made with.
  struct Numbers {
    int64_t period = 1;  ///< a multiple of all that positions are divided by
    double reach = 4;    ///< a bound on what positions, so divided, are compared with
    double stretch = 1;  ///< how much more positions are divided by than by the period
  };
  void collect(OutletId outlet, Square at, Numbers* numbers) const;
  /// Whether a shift so far holds only from some position on: values were clamped to a number, or
  /// compared with it.
  bool levels_off() const { return levels_off_; }

 private:
  /// A wire at its place, with what it is made of: found once, computed for many positions.
  struct Entry {
    bool known = false;
    std::vector<Square> inputs;
    std::optional<double> constant;
    std::optional<PositionTable> table;
    bool chosen_by_position = false;  ///< of a choice: no branch depends on what inputs hold
    std::vector<std::optional<double>> seen;  ///< values of a wire of one position, as far as asked
    std::vector<char> asked;
  };

  std::optional<double> compute(const Entry& own, OutletId outlet, Square at, int64_t i,
                                int64_t j) const;
  const Node& node_of(OutletId outlet) const { return graph_.node(outlet.node); }
  Entry& entry(OutletId outlet, Square at) const;

  const Graph& graph_;
  std::string_view symbol_;
  mutable bool levels_off_ = false;
  std::vector<char> too_deep_;  ///< by node, whether it is made of more than is looked through
  mutable std::map<std::pair<OutletId, Square>, Entry> entries_;
};

/// Tell whether an op gives the values of its input, in other places.
bool keeps_values(const Op& op);

}  // namespace rill::ops
