#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/graph/course.h"
#include "core/graph/graph.h"

namespace rill::pulse {

/// Prepends elements to wires of positions or scores by selects on the position, without a join.
/// cat([ones(S, P), window(S, S)], 1) becomes where(j < P, 1, window(i, j - P)), a function of
/// positions, which `core/positions` interprets. New nodes take the name of the join.
class FrontWires {
 public:
  using Wire = std::optional<OutletId>;

  /// Elements before the growing part of a wire: parts with their extents along the axis.
  struct Join {
    int axis = 0;
    std::vector<std::pair<OutletId, int64_t>> parts;
    OutletId rest;
  };

  /// `graph`: the graph to which nodes are appended; it must outlive this. `frames`: whether wires
  /// of frames may be moved, too; zeros are then prepended.
  FrontWires(Graph* graph, std::string_view symbol, bool frames)
      : graph_(*graph), symbol_(symbol), frames_(frames) {}

  /// Return the joined wire; nothing unless the parts are functions of positions, and so is the
  /// rest, also at places before its first element.
  Result<Wire> joined(const Node& join, const Join& of);
  /// As `joined`, for scores: join upstream of the masks, and extend the masks to show the new
  /// parts.
  Result<Wire> joined_scores(const Node& join, const Join& of) { return below(join, of, 0); }
  /// Return a wire with element n - `by` of the given one at n >= `by`, and any at smaller n.
  Result<Wire> moved(OutletId wire, int axis, int64_t by) { return moved({wire, axis, by}, 0); }
  /// Return frames after zeros; nothing if another axis belongs to the stream, too.
  Result<Wire> after_zeros(OutletId wire, int axis, int64_t by);
  OutletId konst(const Node& node, Tensor value);

 private:
  /// A wire whose elements move back along an axis.
  struct Move {
    OutletId wire;
    int axis = 0;
    int64_t by = 0;
    auto operator<=>(const Move&) const = default;
  };

  Result<Wire> below(const Node& join, const Join& of, int depth);
  Result<Wire> below_mask(const Node& join, const Join& of, const Node& mask, int depth);
  Result<OutletId> choice(const Node& node, OutletId places, const std::vector<OutletId>& elements,
                          int64_t begin, int64_t end);
  Result<OutletId> chosen(const Node& node, OutletId places, int64_t limit, OutletId before,
                          OutletId after);
  Result<Wire> moved(const Move& move, int depth);
  Result<Wire> moved_node(const Node& node, const Move& move, int depth);
  Wire moved_slice(const Node& node, const Course& slice, int64_t by);
  bool follows(const Course& course) const;
  Result<Wire> element_of(const Node& join, OutletId wire, int axis, int64_t at, int depth);
  Result<Wire> element_of_node(const Node& join, OutletId wire, int axis, int64_t at, int depth);
  template <class Change>
  Result<Wire> over_inputs(const Node& node, OpPtr op, int axis, const Change& change);
  Wire appended(const Node& node, OpPtr op, const std::vector<OutletId>& inputs);
  Result<OutletId> add(const Node& node, OpPtr op, const std::vector<OutletId>& inputs);
  OutletId constant_like(const Node& node, Tensor value);

  Graph& graph_;
  std::string_view symbol_;
  bool frames_;
  std::map<Move, Wire> moved_;
  std::map<std::tuple<OutletId, int, int64_t>, Wire> elements_;
  std::vector<std::pair<TensorPtr, OutletId>> constants_;
};

}  // namespace rill::pulse
