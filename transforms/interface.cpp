#include "transforms/interface.h"

#include <algorithm>

#include "core/base/search.h"
#include "transforms/splice.h"

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
  Splice splice(graph);
  splice.inputs.clear();
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
    Node source;
    source.name = name;
    source.outputs = {graph.fact(wire).without_value()};
    source.op = make_op<Source>(source.outputs[0]);
    source.line = graph.node(id).line;
    splice.inputs.push_back(wire);
    splice.nodes()[static_cast<size_t>(id)] = std::move(source);
  }
  if (graph.streaming) {
    splice.frame().streaming->input_axes = std::move(axes);
    splice.frame().streaming->input_lengths = std::move(lengths);
  }
  RILL_ASSIGN(Graph out, splice.build());
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
  Splice splice(graph);
  splice.nodes()[static_cast<size_t>(id)].op = make_op<Source>(fact);
  for (const Dim& extent : fact.shape) {
    std::vector<std::string> symbols;
    extent.collect_symbols(&symbols);
    for (const std::string& symbol : symbols) splice.frame().scope.declare(symbol);
  }
  return splice.build();
}

Result<Graph> with_constant_input(const Graph& graph, std::string_view input, Tensor value) {
  RILL_ASSIGN(const int id, source_named(graph, input));
  Splice splice(graph);
  splice.nodes()[static_cast<size_t>(id)].op =
      make_op<Const>(std::make_shared<const Tensor>(std::move(value)));
  if (graph.streaming) {
    RILL_ASSIGN(const size_t index, input_at(graph, {id, 0}));
    std::vector<int>& axes = splice.frame().streaming->input_axes;
    auto& lengths = splice.frame().streaming->input_lengths;
    if (graph.streaming->input_axis(index) >= 0) {
      return fail(Code::kPulse, "input ", input, " streams: its frames cannot be a constant")
          .hint("Make constants of inputs before the model is pulsed");
    }
    const auto at = static_cast<ptrdiff_t>(index);
    if (index < axes.size()) axes.erase(axes.begin() + at);
    if (index < lengths.size()) lengths.erase(lengths.begin() + at);
  }
  std::erase(splice.inputs, OutletId{id, 0});
  return splice.build();
}

}  // namespace rill::transforms
