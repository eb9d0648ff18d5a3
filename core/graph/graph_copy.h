#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// The wires of a copied graph for those of the original.
class WireMap {
 public:
  explicit WireMap(size_t nodes) : by_node_(nodes) {}

  /// Return the copy's wire for a wire of the original, which must be copied already.
  OutletId at(OutletId original) const;
  bool contains(OutletId original) const;
  /// Return the place of the copy's wire, to assign it.
  OutletId& operator[](OutletId original);
  /// Record the copy's wires for all outputs of a node.
  void set(int node, std::vector<OutletId> wires) {
    by_node_[static_cast<size_t>(node)] = std::move(wires);
  }
  /// Return the copy's wires of all inputs of a node.
  std::vector<OutletId> inputs_of(const Node& node) const;
  /// The copy's wires by node and slot; empty for nodes that are not copied yet.
  const std::vector<std::vector<OutletId>>& by_node() const { return by_node_; }

 private:
  std::vector<std::vector<OutletId>> by_node_;
};

/// Copies a graph node by node, in order. Every rewriting of a whole graph derives from it:
/// `rewrite_once` for rules of single nodes, and the passes before pulsing.
class GraphCopy {
 public:
  explicit GraphCopy(const Graph& graph)
      : graph_(graph), out_(empty_like(graph)), mapped_(graph.nodes.size()) {}
  virtual ~GraphCopy() = default;
  GraphCopy(const GraphCopy&) = delete;
  GraphCopy& operator=(const GraphCopy&) = delete;

  /// Return the copy without unused nodes. The first form keeps the copy with all nodes in `out_`.
  Result<Graph> run() &;
  Result<Graph> run() &&;

 protected:
  /// Copy a node. By default, sources and constants stay unchanged, and `copy` copies the others.
  virtual Status visit(int id);
  /// Copy a node that is neither a source nor a constant.
  virtual Status copy(int id) = 0;
  /// Return the copy's wire for a model output of the original.
  virtual Result<OutletId> whole(OutletId outlet) { return mapped_.at(outlet); }

  /// Append a node unchanged, or with another operator.
  Status append(int id, OpPtr op, WireList inputs);
  /// As `append`, but if all inputs are constants, compute the value now.
  Status append_folded(int id, OpPtr op, WireList inputs);

  const Graph& graph_;
  Graph out_;
  WireMap mapped_;

 private:
  Status copy_all();
};

}  // namespace rill
