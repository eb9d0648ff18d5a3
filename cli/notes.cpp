#include "cli/notes.h"

#include <algorithm>
#include <map>

#include "core/tensor/tensor.h"
#include "kernels/reach/machine.h"
#include "transforms/scan_state.h"

namespace rill::cli {

const NodeNotes& Notes::of(const std::vector<NodeNotes>& nodes, int id) {
  static const NodeNotes none;
  const auto at = static_cast<size_t>(id);
  return id >= 0 && at < nodes.size() ? nodes[at] : none;
}

namespace {

void visit_notes(const Graph& graph, const std::vector<NodeNotes>& nodes, std::vector<int>* scope,
                 const NoteVisitor& visit) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const int id = static_cast<int>(i);
    const NodeNotes& notes = Notes::of(nodes, id);
    visit(*scope, graph, id, notes);
    const Graph* body = graph.nodes[i].op->nested();
    if (body == nullptr || notes.body.empty()) continue;
    scope->push_back(id);
    visit_notes(*body, notes.body, scope, visit);
    scope->pop_back();
  }
}

CostList cost_of(const Graph& graph, const Node& node, const Dim& iterations) {
  const Facts in = graph.facts_of(node.inputs);
  CostList out;
  const DType dtype = node.outputs.empty() ? DType::kF32 : node.outputs[0].dtype;
  if (node.op->nested() == nullptr) {
    const Cost cost = node.op->cost(in, node.outputs);
    if (!(cost.fma == Dim(0))) {
      out.emplace_back(str_cat("FMA(", dtype_name(dtype), ")"), cost.fma * iterations);
    }
    if (!(cost.bytes == Dim(0))) out.emplace_back("Bytes", cost.bytes * iterations);
  }
  std::map<std::string, Dim> params;
  for (const Fact& fact : in) {
    if (!fact.konst || fact.dtype == DType::kString) continue;
    params[str_cat("Params(", dtype_name(fact.dtype), ")")] += Dim(fact.konst->volume());
  }
  for (const auto& [kind, count] : params) out.emplace_back(kind, count);
  return out;
}

void cost_nodes(const Graph& graph, const Dim& iterations, std::vector<NodeNotes>* nodes) {
  nodes->resize(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    (*nodes)[i].cost = cost_of(graph, node, iterations);
    const Graph* body = node.op->nested();
    if (body == nullptr) continue;
    cost_nodes(*body, iterations * transforms::loop_iterations(graph, node), &(*nodes)[i].body);
  }
}

void bind_nodes(const Bindings& bindings, std::vector<NodeNotes>* nodes) {
  for (NodeNotes& node : *nodes) {
    for (auto& [kind, count] : node.cost) {
      for (const auto& [symbol, value] : bindings) count = count.substitute(symbol, Dim(value));
    }
    bind_nodes(bindings, &node.body);
  }
}

}  // namespace

int64_t count_of(const NodeNotes& node, std::string_view kind) {
  int64_t sum = 0;
  for (const auto& [name, count] : node.cost) {
    if (name.starts_with(kind)) sum += count.to_int().value_or(0);
  }
  return sum;
}

namespace {

void reach_nodes(const kernels::Machine& machine, std::vector<NodeNotes>* nodes) {
  const double peak = machine.peak(kernels::active_tier()) * 1e9;
  for (NodeNotes& node : *nodes) {
    reach_nodes(machine, &node.body);
    if (!node.median_seconds || *node.median_seconds <= 0) continue;
    const int64_t bytes = count_of(node, "Bytes");
    const kernels::Level& level = machine.level_of(bytes);
    const double by_fma =
        2 * static_cast<double>(count_of(node, "FMA(F32)")) / *node.median_seconds / peak;
    const double by_bytes =
        static_cast<double>(bytes) / *node.median_seconds / (level.gbytes * 1e9);
    if (by_fma <= 0 && by_bytes <= 0) continue;
    node.reach = std::max(by_fma, by_bytes);
    node.limit = by_fma >= by_bytes ? "FMA" : level.name;
  }
}

}  // namespace

void note_reach(Notes* notes) { reach_nodes(kernels::measure_machine(), &notes->nodes); }

void for_each_note(const Graph& graph, const Notes& notes, const NoteVisitor& visit) {
  std::vector<int> scope;
  visit_notes(graph, notes.nodes, &scope, visit);
}

void note_costs(const Graph& graph, Notes* notes) {
  notes->cost = true;
  cost_nodes(graph, 1, &notes->nodes);
}

CostList total_cost(const Graph& graph, const Notes& notes) {
  std::map<std::string, Dim> sums;
  for_each_note(graph, notes, [&](std::span<const int>, const Graph&, int, const NodeNotes& node) {
    for (const auto& [kind, count] : node.cost) sums[kind] += count;
  });
  return {sums.begin(), sums.end()};
}

void bind_costs(const Bindings& bindings, Notes* notes) { bind_nodes(bindings, &notes->nodes); }

void note_memory(const Graph& graph, Notes* notes) {
  notes->memory = true;
  notes->nodes.resize(graph.nodes.size());
  auto uses = graph.count_uses();
  const auto bytes_of = [&](OutletId wire) {
    const Fact& fact = graph.fact(wire);
    if (fact.konst || graph.node(wire.node).op->as<Const>()) return Dim(0);
    return volume(fact.shape) * Dim(dtype_size(fact.dtype));
  };
  Dim live = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const int id = static_cast<int>(i);
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      live += bytes_of({id, static_cast<int>(slot)});
    }
    if (!node.op->as<Const>()) notes->nodes[i].live_bytes = graph.scope.simplify(live);
    for (const OutletId input : node.inputs) {
      int& left = uses[static_cast<size_t>(input.node)][static_cast<size_t>(input.slot)];
      if (--left == 0) live += Dim(0) - bytes_of(input);
    }
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (uses[i][slot] == 0) live += Dim(0) - bytes_of({id, static_cast<int>(slot)});
    }
  }
}

}  // namespace rill::cli
