#include "transforms/patch.h"

#include <map>

#include "core/base/search.h"
#include "core/optim/precision.h"
#include "nnef_loader/statements.h"
#include "ops/array/cast.h"
#include "ops/array/reshape.h"
#include "transforms/rebuilt.h"

namespace rill::transforms {
namespace {

/// Find a node by its name, verbatim or in NNEF's form.
int node_named(const Graph& graph, std::string_view name) {
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].name == name) return static_cast<int>(id);
  }
  return -1;
}

class Patch {
 public:
  Patch(const Graph& graph, const nnef::Statements& statements) : edited_(graph), graph_(graph) {
    for (size_t id = 0; id < statements.graph.nodes.size(); ++id) {
      const Node& node = statements.graph.nodes[id];
      const auto tap = statements.taps.find(static_cast<int>(id));
      const bool taps = tap != statements.taps.end();
      place_.push_back(taps ? tap->second : static_cast<int>(edited_.nodes.size()));
      if (!taps) edited_.nodes.push_back(renamed(node));
    }
  }

  void shunt(int node, OutletId wire);
  void add_output(const std::string& name, OutletId wire) {
    edited_.add_output(name, moved(wire));
  }
  OutletId moved(OutletId wire) const {
    return {place_[static_cast<size_t>(wire.node)], wire.slot};
  }
  Result<Graph> build() {
    for (const auto& [from, to] : shunts_) {
      // The new statements keep reading the old wire.
      for (size_t id = 0; id < graph_.nodes.size(); ++id) {
        for (OutletId& input : edited_.nodes[id].inputs) {
          if (input == from) input = to;
        }
      }
      for (OutletId& output : edited_.outputs) {
        if (output == from) output = to;
      }
    }
    return rebuilt(std::move(edited_));
  }

 private:
  Node renamed(const Node& node) const {
    Node out = node;
    for (OutletId& input : out.inputs) input = moved(input);
    return out;
  }
  OutletId append(const std::string& name, OpPtr op, OutletId input) {
    edited_.nodes.push_back({name, std::move(op), {input}, {}, 0});
    return {static_cast<int>(edited_.nodes.size()) - 1, 0};
  }

  Graph edited_;
  const Graph& graph_;
  std::vector<int> place_;  ///< of the nodes of the statements
  std::vector<std::pair<OutletId, OutletId>> shunts_;

  friend Status shunt_wire(Patch*, int, OutletId, const Fact&);
};

/// Replace the wire of a node by another one, converted to its type and shape.
Status shunt_wire(Patch* patch, int node, OutletId wire, const Fact& fact) {
  const OutletId old{node, 0};
  const Fact& wanted = patch->graph_.fact(old);
  const std::string& name = patch->graph_.node(node).name;
  OutletId now = patch->moved(wire);
  if (fact.dtype != wanted.dtype) {
    now = patch->append(name + "_cast", make_op<ops::Cast>(wanted.dtype), now);
  }
  if (fact.shape != wanted.shape) {
    now = patch->append(name + "_reshape",
                        make_op<ops::Reshape>(0, static_cast<int64_t>(fact.rank()), wanted.shape),
                        now);
  }
  patch->shunts_.emplace_back(old, now);
  return {};
}

}  // namespace

Result<Graph> patched(const Graph& graph, std::string_view body,
                      std::span<const std::string> new_outputs,
                      std::span<const OpModule* const> ops) {
  RILL_ASSIGN(const nnef::Statements statements, nnef::load_statements(graph, body, ops));
  Patch patch(graph, statements);
  for (size_t i = 0; i < statements.assigned.size(); ++i) {
    const auto& [name, wire] = statements.assigned[i];
    const int node = node_named(graph, name);
    if (node >= 0) {
      RILL_TRY(shunt_wire(&patch, node, wire, statements.graph.fact(wire)));
    } else if (contains(new_outputs, name)) {
      patch.add_output(name, wire);
    } else if (i + 1 == statements.assigned.size()) {
      return fail(Code::kArg, "Wire '", name,
                  "' does not name an existing node and is not declared in new_outputs");
    }
  }
  RILL_ASSIGN(Graph out, patch.build());
  return upcast_chains(std::move(out), ops);
}

}  // namespace rill::transforms
