#include "core/graph/rewrite.h"

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

Result<Graph> rewrite_once(const Graph& graph, const RewriteRule& rule, bool* changed) {
  Graph out;
  out.name = graph.name;
  out.scope = graph.scope;
  out.properties = graph.properties;
  const auto uses = graph.count_uses();
  std::map<OutletId, OutletId> mapped;
  std::map<std::string, std::vector<OutletId>> seen;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const int id = static_cast<int>(i);
    std::vector<OutletId> outlets;
    if (node.op->as<Source>()) {
      outlets = {out.add_source(node.name, node.outputs[0], node.line)};
    } else {
      Rewrite rewrite(graph, uses, &out, mapped, id);
      Status ruled = rule(*node.op, rewrite);
      if (!ruled.ok()) {
        return std::move(ruled).in_node(node.name, node.op->name()).at("", node.line);
      }
      std::vector<OutletId> inputs = rewrite.mapped_inputs(node);
      std::string key;
      if (!node.op->as<Const>()) {
        key = str_cat(node.op->name(), "|", node.op->attributes());
        for (const OutletId& input : inputs) key += str_cat("|", input.node, ".", input.slot);
      }
      const auto known = key.empty() ? seen.end() : seen.find(key);
      if (rewrite.replacement()) {
        outlets = *rewrite.replacement();
        *changed = true;
      } else if (known != seen.end()) {
        outlets = known->second;
        *changed = true;
      } else if (node.op->as<Const>()) {
        outlets = {out.add_const(node.name, node.op->as<Const>()->value, node.line)};
      } else {
        RILL_ASSIGN(outlets, out.add_folded(node.name, node.op, std::move(inputs), node.line));
        const bool folded = out.node(outlets[0].node).op->as<Const>() != nullptr;
        *changed |= folded;
        if (!folded) seen.emplace(std::move(key), outlets);
      }
    }
    for (size_t slot = 0; slot < outlets.size(); ++slot) {
      mapped[{id, static_cast<int>(slot)}] = outlets[slot];
    }
  }
  out.inputs.clear();
  for (const OutletId& input : graph.inputs) out.inputs.push_back(mapped.at(input));
  for (const OutletId& output : graph.outputs) out.outputs.push_back(mapped.at(output));
  out.output_names = graph.output_names;
  return out.compacted();
}

}  // namespace rill
