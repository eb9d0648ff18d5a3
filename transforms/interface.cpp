#include "transforms/interface.h"

#include <algorithm>

#include "core/base/search.h"
#include "transforms/rebuilt.h"

namespace rill::transforms {
namespace {

Result<int> node_named(const Graph& graph, std::string_view name) {
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].name == name) return static_cast<int>(id);
  }
  return fail(Code::kArg, "Node ", name, " not found");
}

Result<int> source_named(const Graph& graph, std::string_view name) {
  RILL_ASSIGN(const int id, node_named(graph, name));
  const Node& node = graph.node(id);
  if (node.op->as<Source>()) return id;
  return fail(Code::kArg, "expected an input, and ", name, " is a ", node.op->name())
      .hint("The facts of other nodes follow from those of the inputs");
}

/// Return the index of a wire among the inputs of a pulsed graph, which does not describe how its
/// other wires stream. Errors: kPulse for those.
Result<size_t> input_at(const Graph& graph, OutletId wire) {
  const auto it = find(graph.inputs, wire);
  if (it != graph.inputs.end()) return static_cast<size_t>(it - graph.inputs.begin());
  return fail(Code::kPulse, "Node ", graph.node(wire.node).name,
              " is not an input of this pulsed model")
      .hint("Choose inputs of the model before it is pulsed");
}

}  // namespace

Result<Graph> with_inputs_at(const Graph& graph, std::span<const std::string> nodes) {
  Graph edited = graph;
  edited.inputs.clear();
  std::vector<int> axes;
  std::vector<std::optional<Dim>> lengths;
  for (const std::string& name : nodes) {
    RILL_ASSIGN(const int id, node_named(graph, name));
    const OutletId wire{id, 0};
    if (graph.streaming) {
      RILL_ASSIGN(const size_t index, input_at(graph, wire));
      axes.push_back(graph.streaming->input_axis(index));
      lengths.push_back(graph.streaming->input_length(index));
    }
    edited.inputs.push_back(wire);
    edited.nodes[static_cast<size_t>(id)] =
        source_node(name, graph.fact(wire).without_value(), graph.node(id).line);
  }
  if (graph.streaming) {
    edited.streaming->input_axes = std::move(axes);
    edited.streaming->input_lengths = std::move(lengths);
  }
  RILL_ASSIGN(Graph out, rebuilt(std::move(edited)));
  for (size_t id = 0; id < out.nodes.size(); ++id) {
    const OutletId wire{static_cast<int>(id), 0};
    if (!out.nodes[id].op->as<Source>()) continue;
    if (contains(out.inputs, wire)) continue;
    return fail(Code::kArg, "input ", out.nodes[id].name, " is still needed")
        .hint("Name it with --input-node too, or cut the model before every reader of it");
  }
  return out;
}

Result<Graph> with_source_fact(const Graph& graph, std::string_view input, const Fact& fact) {
  RILL_ASSIGN(const int id, source_named(graph, input));
  Graph edited = graph;
  edited.nodes[static_cast<size_t>(id)] =
      source_node(graph.node(id).name, fact, graph.node(id).line);
  for (const Dim& extent : fact.shape) {
    std::vector<std::string> symbols;
    extent.collect_symbols(&symbols);
    for (const std::string& symbol : symbols) edited.scope.declare(symbol);
  }
  return rebuilt(std::move(edited));
}

Result<Graph> with_constant_input(const Graph& graph, std::string_view input, Tensor value) {
  RILL_ASSIGN(const int id, source_named(graph, input));
  Graph edited = graph;
  edited.nodes[static_cast<size_t>(id)].op =
      make_op<Const>(std::make_shared<const Tensor>(std::move(value)));
  if (graph.streaming) {
    RILL_ASSIGN(const size_t index, input_at(graph, {id, 0}));
    std::vector<int>& axes = edited.streaming->input_axes;
    auto& lengths = edited.streaming->input_lengths;
    if (graph.streaming->input_axis(index) >= 0) {
      return fail(Code::kPulse, "input ", input, " streams: its frames cannot be a constant")
          .hint("Make constants of inputs before the model is pulsed");
    }
    const auto at = static_cast<ptrdiff_t>(index);
    if (index < axes.size()) axes.erase(axes.begin() + at);
    if (index < lengths.size()) lengths.erase(lengths.begin() + at);
  }
  std::erase(edited.inputs, OutletId{id, 0});
  return rebuilt(std::move(edited));
}

}  // namespace rill::transforms
