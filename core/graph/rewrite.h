#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Maps the outlets of an old graph to the new graph, by node and slot; empty for nodes that are
/// not copied yet.
using OutletMap = std::vector<std::vector<OutletId>>;

/// The interface of `declutter` and `fuse` to one node, while a graph is rewritten node by node.
/// Rules match on the old graph, whose use counts are complete, and add nodes to the new graph.
/// Nodes that become unused are removed afterwards.
class Rewrite {
 public:
  Rewrite(const Graph& old_graph, const std::vector<std::vector<int>>& uses, Graph* new_graph,
          const OutletMap& mapped, int id)
      : old_(old_graph), uses_(uses), new_(new_graph), mapped_(mapped), id_(id) {}

  const Graph& old_graph() const { return old_; }
  const SymbolScope& scope() const { return old_.scope; }
  const Node& node() const { return old_.node(id_); }
  int node_id() const { return id_; }
  OutletId input(int i) const { return node().inputs[static_cast<size_t>(i)]; }
  const Fact& in(int i) const { return old_.fact(input(i)); }
  const Fact& out(int i = 0) const { return node().outputs[static_cast<size_t>(i)]; }
  /// Return the producer of input i. `producer_as` returns its op if that has class T and input i
  /// reads slot 0, else null.
  const Node& producer(int i) const { return old_.node(input(i).node); }
  template <class T>
  const T* producer_as(int i) const {
    return input(i).slot == 0 ? producer(i).op->as<T>() : nullptr;
  }
  int uses(OutletId old_outlet) const {
    return uses_[static_cast<size_t>(old_outlet.node)][static_cast<size_t>(old_outlet.slot)];
  }
  /// Return the wire of the new graph for a wire of the old graph.
  OutletId mapped(OutletId old_outlet) const {
    return mapped_[static_cast<size_t>(old_outlet.node)][static_cast<size_t>(old_outlet.slot)];
  }
  std::vector<OutletId> mapped_inputs(const Node& of) const;

  /// Append to the new graph, folding constants.
  Result<std::vector<OutletId>> wire(std::string_view name, OpPtr op, WireList inputs);
  Result<OutletId> wire1(std::string_view name, OpPtr op, WireList inputs);
  OutletId konst(std::string_view name, Tensor value);
  const Fact& new_fact(OutletId outlet) const { return new_->fact(outlet); }
  const Graph& new_graph() const { return *new_; }
  /// Return whether this is the fuse stage, whose result is never saved.
  bool fusing() const { return fusing_; }
  /// Return whether the plan stores weights in fewer bits than f32. Then `fuse` must not create a
  /// layer whose kernel reads only f32.
  bool few_bits() const { return few_bits_; }
  void set_fusing(bool few_bits) {
    fusing_ = true;
    few_bits_ = few_bits;
  }

  /// Replace the outputs of this node, after a check of their types and shapes.
  Status replace(WireList outlets);
  /// Replace this node by a new one, with the name `name`, or that of this node.
  Status replace_by(OpPtr op, WireList inputs, std::string_view name = {});
  /// Replace output 0 by a wire of the old graph.
  Status bypass(OutletId old_outlet) { return replace({mapped(old_outlet)}); }
  const std::optional<std::vector<OutletId>>& replacement() const { return replacement_; }

 private:
  const Graph& old_;
  const std::vector<std::vector<int>>& uses_;
  Graph* new_;
  const OutletMap& mapped_;
  int id_;
  bool fusing_ = false;
  bool few_bits_ = false;
  std::optional<std::vector<OutletId>> replacement_;
};

using RewriteRule = std::function<Status(const Op&, Rewrite&)>;

/// Rewrite every node once, in order: apply the rule, fold constants, merge equal nodes; then drop
/// unused nodes. `changed` is set to whether this changed anything. `again`: the graph is a result
/// of this function, so only nodes after a change are inferred and folded.
Result<Graph> rewrite_once(const Graph& graph, const RewriteRule& rule, bool* changed,
                           bool again = false);

}  // namespace rill
