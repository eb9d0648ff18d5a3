#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Copies a graph node by node, in order. Derived classes define how to copy nodes with inputs.
class GraphCopy {
 public:
  explicit GraphCopy(const Graph& graph) : graph_(graph), out_(empty_like(graph)) {}
  virtual ~GraphCopy() = default;
  GraphCopy(const GraphCopy&) = delete;
  GraphCopy& operator=(const GraphCopy&) = delete;

  /// Return the copy without unused nodes.
  Result<Graph> run();

 protected:
  virtual Status copy(int id) = 0;
  /// Return the copy's wire for a wire of the original.
  virtual Result<OutletId> whole(OutletId outlet) { return mapped_.at(outlet); }
  /// Append a node unchanged, or with another operator.
  Status append(int id, OpPtr op, WireList inputs);

  const Graph& graph_;
  Graph out_;
  std::map<OutletId, OutletId> mapped_;
};

}  // namespace rill::pulse
