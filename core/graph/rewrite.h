#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Where the outlets of an old graph are in a new one, by node and slot; nodes that are not there
/// yet have none.
using OutletMap = std::vector<std::vector<OutletId>>;

/// The view of one node that `declutter` and `fuse` get while a graph is rewritten node by node.
/// Matching looks at the old graph, whose use counts are complete; new nodes go to the new graph.
/// A node that nothing uses any more disappears by itself.
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
  /// The node that makes input i, and its op if it is of class T and `slot` 0 is what is read.
  const Node& producer(int i) const { return old_.node(input(i).node); }
  template <class T>
  const T* producer_as(int i) const {
    return input(i).slot == 0 ? producer(i).op->as<T>() : nullptr;
  }
  int uses(OutletId old_outlet) const {
    return uses_[static_cast<size_t>(old_outlet.node)][static_cast<size_t>(old_outlet.slot)];
  }
  /// Where an old wire is in the new graph.
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
  /// Return whether this is the stage whose result is never written to files.
  bool fusing() const { return fusing_; }
  /// Return whether that stage is for a plan that stores weights in fewer bits than f32: it then
  /// makes no layer whose kernel reads f32 alone.
  bool few_bits() const { return few_bits_; }
  void set_fusing(bool few_bits) {
    fusing_ = true;
    few_bits_ = few_bits;
  }

  /// Say what stands for the outputs of this node. Checks type and shape.
  Status replace(WireList outlets);
  /// Say that a node, of that name or by its own, stands for this one.
  Status replace_by(OpPtr op, WireList inputs, std::string_view name = {});
  /// Say that output 0 is the same as that old wire.
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

/// Rewrite every node once, in order: the rule, then folding of constants and merging of equal
/// nodes; drop unused nodes. `changed` returns whether any step changed anything. `again`: this
/// function returned the graph before, so only nodes after a change are inferred and folded.
Result<Graph> rewrite_once(const Graph& graph, const RewriteRule& rule, bool* changed,
                           bool again = false);

}  // namespace rill
