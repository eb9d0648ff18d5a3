#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace rill::cli {

/// Names for the axes of all wires; axes that operators track share a name.
class AxisNames {
 public:
  /// Name the axes of a graph. `hints`: "axis,axis,..." for the first input, or
  /// "node=axis,axis,...". Axes without a hint are called x0, x1, ...; those in loop bodies get the
  /// prefix `loop_`, as in loop_x0.
  /// Errors: kArg for a node that does not exist.
  static Result<AxisNames> of(const Graph& graph, std::span<const std::string> hints);

  /// Return "B,x1 " for a wire in the bodies of loops `scope`; empty if names were not requested.
  std::string text(std::span<const int> scope, OutletId outlet) const;

 private:
  void name(const Graph& graph, std::vector<int> scope, const std::string& prefix,
            const std::map<std::pair<OutletId, int>, std::string>& hints);

  std::map<std::pair<std::vector<int>, OutletId>, std::vector<std::string>> names_;
};

}  // namespace rill::cli
