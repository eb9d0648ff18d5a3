#include "transforms/scan_state.h"

#include <optional>

#include "ops/control/scan.h"
#include "transforms/rebuilt.h"

namespace rill::transforms {
namespace {

using Kind = ops::Scan::Input::Kind;

/// Return whether the loop runs exactly once, starting at its first frame.
bool runs_once(const Graph& graph, const Node& node, const ops::Scan& scan) {
  const Facts in = graph.facts_of(node.inputs);
  return scan.skip == 0 && scan.limit == Dim(0) && scan.iterations(in) == Dim(1);
}

/// Return the output of the loop for a result after the last iteration; add it if there is none.
int output_for(int result, ops::Scan* scan) {
  for (size_t i = 0; i < scan->outputs.size(); ++i) {
    if (scan->outputs[i].result == result) return static_cast<int>(i);
  }
  ops::Scan::Output out;
  out.result = result;
  out.last = true;
  scan->outputs.push_back(out);
  return static_cast<int>(scan->outputs.size()) - 1;
}

void export_states(int id, const ops::Scan& scan, Graph* edited) {
  auto copy = draft_op<ops::Scan>(scan);
  const std::string name = edited->node(id).name;
  size_t state = 0;
  int exported = 0;
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    if (scan.inputs[i].kind != Kind::kState) continue;
    const int result = scan.state_results[state++];
    const OutletId seed = edited->node(id).inputs[i];
    const auto* constant = edited->node(seed.node).op->as<Const>();
    if (constant == nullptr) continue;
    const std::string suffix = exported == 0 ? "" : str_cat("_", exported);
    ++exported;
    const Fact fact = Fact::of_tensor(constant->value).without_value();
    const OutletId wire{static_cast<int>(edited->nodes.size()), 0};
    edited->nodes.push_back(source_node(str_cat(name, ".state_in", suffix), fact));
    edited->nodes[static_cast<size_t>(id)].inputs[i] = wire;
    edited->inputs.push_back(wire);
    edited->add_output(str_cat(name, ".state_out", suffix), {id, output_for(result, copy.get())});
  }
  if (exported == 0) return;
  copy->external_state = true;
  edited->nodes[static_cast<size_t>(id)].op = copy;
}

}  // namespace

Dim loop_iterations(const Graph& graph, const Node& node) {
  const auto* scan = node.op->as<ops::Scan>();
  if (scan == nullptr) return 1;
  const Facts in = graph.facts_of(node.inputs);
  return scan->iterations(in);
}

Result<Graph> export_scan_state(const Graph& graph) {
  Graph edited = graph;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const auto* scan = node.op->as<ops::Scan>();
    if (scan == nullptr || !runs_once(graph, node, *scan)) continue;
    export_states(static_cast<int>(id), *scan, &edited);
  }
  return rebuilt(std::move(edited));
}

Result<Graph> force_external_state(const Graph& graph) {
  Graph edited = graph;
  for (Node& node : edited.nodes) {
    const auto* scan = node.op->as<ops::Scan>();
    if (scan == nullptr) continue;
    auto copy = draft_op<ops::Scan>(*scan);
    copy->external_state = true;
    node.op = std::move(copy);
  }
  return rebuilt(std::move(edited));
}

}  // namespace rill::transforms
