#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Copies a graph node by node, in order. A class that derives from it says how nodes with inputs
/// are copied.
class GraphCopy {
 public:
  explicit GraphCopy(const Graph& graph) : graph_(graph), out_(empty_like(graph)) {}
  virtual ~GraphCopy() = default;
  GraphCopy(const GraphCopy&) = delete;
  GraphCopy& operator=(const GraphCopy&) = delete;

  /// Give the copy, without nodes that no output needs.
  Result<Graph> run();

 protected:
  virtual Status copy(int id) = 0;
  /// The wire of the copy that has the values of a wire of the original.
  virtual Result<OutletId> whole(OutletId outlet) { return mapped_.at(outlet); }
  /// Append a node as it is, or with another operator.
  Status append(int id, OpPtr op, WireList inputs);

  const Graph& graph_;
  Graph out_;
  std::map<OutletId, OutletId> mapped_;
};

}  // namespace rill::pulse
