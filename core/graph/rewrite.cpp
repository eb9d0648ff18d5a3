#include "core/graph/rewrite.h"

#include <map>

namespace rill {

std::vector<OutletId> Rewrite::mapped_inputs(const Node& of) const {
  std::vector<OutletId> out;
  for (const OutletId& input : of.inputs) out.push_back(mapped(input));
  return out;
}

Result<std::vector<OutletId>> Rewrite::wire(std::string_view name, OpPtr op,
                                            std::vector<OutletId> inputs) {
  return new_->add_folded(name, std::move(op), std::move(inputs), node().line);
}

Result<OutletId> Rewrite::wire1(std::string_view name, OpPtr op, std::vector<OutletId> inputs) {
  RILL_ASSIGN(const std::vector<OutletId> outlets, wire(name, std::move(op), std::move(inputs)));
  return outlets[0];
}

OutletId Rewrite::konst(std::string_view name, Tensor value) {
  return new_->add_const(name, std::make_shared<const Tensor>(std::move(value)), node().line);
}

Status Rewrite::replace(std::vector<OutletId> outlets) {
  RILL_ASSERT(outlets.size() == node().outputs.size());
  for (size_t i = 0; i < outlets.size(); ++i) {
    const Fact& now = new_->fact(outlets[i]);
    const Fact& before = node().outputs[i];
    if (now.dtype != before.dtype || now.rank() != before.rank()) {
      return fail(Code::kInternal, "a rewriting changes ", before, " to ", now)
          .in_node(node().name, node().op->name());
    }
  }
  replacement_ = std::move(outlets);
  return {};
}

namespace {

/// The nodes of a new graph, to find one that computes the same again.
class Computed {
 public:
  explicit Computed(const Graph& graph) : graph_(graph) {}

  /// The node with that op on those inputs; -1 if there is none.
  int find(const Op& op, const std::vector<OutletId>& inputs) const {
    const auto [begin, end] = nodes_.equal_range(key(op, inputs));
    for (auto it = begin; it != end; ++it) {
      const Node& other = graph_.node(it->second);
      if (other.inputs != inputs || other.op->name() != op.name()) continue;
      if (other.op->attributes() == op.attributes()) return it->second;
    }
    return -1;
  }
  void add(int id) {
    const Node& node = graph_.node(id);
    nodes_.emplace(key(*node.op, node.inputs), id);
  }

 private:
  using Key = std::pair<const void*, OutletId>;
  static Key key(const Op& op, const std::vector<OutletId>& inputs) {
    return {op.kind(), inputs.empty() ? OutletId{-1, 0} : inputs[0]};
  }
  const Graph& graph_;
  std::multimap<Key, int> nodes_;
};

std::vector<OutletId> outlets_of(const Graph& graph, int id) {
  std::vector<OutletId> outlets;
  const size_t slots = graph.node(id).outputs.size();
  for (size_t slot = 0; slot < slots; ++slot) outlets.push_back({id, static_cast<int>(slot)});
  return outlets;
}

/// The outlets in the new graph of what the rule has left as it was.
Result<std::vector<OutletId>> kept(const Rewrite& rewrite, Graph* out, Computed* computed,
                                   bool* changed) {
  const Node& node = rewrite.node();
  if (const auto* constant = node.op->as<Const>()) {
    return std::vector<OutletId>{out->add_const(node.name, constant->value, node.line)};
  }
  std::vector<OutletId> inputs = rewrite.mapped_inputs(node);
  const int known = computed->find(*node.op, inputs);
  if (known >= 0) {
    *changed = true;
    return outlets_of(*out, known);
  }
  RILL_ASSIGN(std::vector<OutletId> outlets,
              out->add_folded(node.name, node.op, std::move(inputs), node.line));
  const int id = outlets[0].node;
  if (out->node(id).op->as<Const>() != nullptr) {
    *changed = true;
  } else {
    computed->add(id);
  }
  return outlets;
}

}  // namespace

Result<Graph> rewrite_once(const Graph& graph, const RewriteRule& rule, bool* changed) {
  Graph out;
  out.name = graph.name;
  out.scope = graph.scope;
  out.properties = graph.properties;
  const auto uses = graph.count_uses();
  OutletMap mapped(graph.nodes.size());
  Computed computed(out);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op->as<Source>()) {
      mapped[i] = {out.add_source(node.name, node.outputs[0], node.line)};
      continue;
    }
    Rewrite rewrite(graph, uses, &out, mapped, static_cast<int>(i));
    Status ruled = rule(*node.op, rewrite);
    if (!ruled.ok()) {
      return std::move(ruled).in_node(node.name, node.op->name()).at("", node.line);
    }
    if (rewrite.replacement()) {
      mapped[i] = *rewrite.replacement();
      *changed = true;
      continue;
    }
    RILL_ASSIGN(mapped[i], kept(rewrite, &out, &computed, changed));
  }
  const auto at = [&](OutletId old) {
    return mapped[static_cast<size_t>(old.node)][static_cast<size_t>(old.slot)];
  };
  out.inputs.clear();
  for (const OutletId& input : graph.inputs) out.inputs.push_back(at(input));
  for (const OutletId& output : graph.outputs) out.outputs.push_back(at(output));
  out.output_names = graph.output_names;
  return std::move(out).compacted();
}

}  // namespace rill
