#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"

namespace rill::transforms {

/// Nodes in any order, from which a graph is made: inputs are outlets of nodes by their place here.
/// So nodes may be added behind their uses, and wires replaced by others.
class Splice {
 public:
  explicit Splice(const Graph& graph);

  Graph& frame() { return frame_; }
  std::vector<Node>& nodes() { return nodes_; }
  const Node& node(int id) const { return nodes_[static_cast<size_t>(id)]; }
  /// Append a node whose facts are inferred later, unless they are given (sources).
  int add(Node node);
  /// Let all that reads a wire, outputs of the model included, read another one.
  void replace(OutletId from, OutletId to);

  std::vector<OutletId> inputs;
  std::vector<OutletId> outputs;
  std::vector<std::string> output_names;

  /// Order the nodes, infer their facts and drop those that no output needs.
  /// Errors: those of the ops; kArg if the nodes form a circle.
  Result<Graph> build() const;

 private:
  Graph frame_;  ///< without nodes
  std::vector<Node> nodes_;
};

}  // namespace rill::transforms
