#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Builds a graph from nodes in any order. Inputs refer to nodes by their index here, so that nodes
/// may be added after their uses, and wires replaced.
class Splice {
 public:
  explicit Splice(const Graph& graph);

  Graph& frame() { return frame_; }
  std::vector<Node>& nodes() { return nodes_; }
  const Node& node(int id) const { return nodes_[static_cast<size_t>(id)]; }
  /// Append a node. Its facts are inferred later, except for sources.
  int add(Node node);
  /// Redirect all readers of a wire, including model outputs, to another one.
  void replace(OutletId from, OutletId to);

  std::vector<OutletId> inputs;
  std::vector<OutletId> outputs;
  std::vector<std::string> output_names;

  /// Sort the nodes, infer their facts and drop unused ones. Errors: those of the ops; kArg for a
  /// cycle.
  Result<Graph> build() const;

 private:
  Graph frame_;  ///< without nodes
  std::vector<Node> nodes_;
};

}  // namespace rill::transforms
