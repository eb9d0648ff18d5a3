#include "cli/edits.h"

#include <algorithm>

#include "cli/bundle.h"
#include "cli/load_model.h"
#include "cli/specs.h"
#include "transforms/interface.h"

namespace rill::cli {
namespace {

Status override_fact(const std::string& text, Graph* graph) {
  RILL_ASSIGN(const FactSpec spec, parse_fact_spec(text));
  Fact fact;
  const auto node = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                                 [&](const Node& each) { return each.name == spec.name; });
  if (node == graph->nodes.end() || node->outputs.empty()) {
    return fail(Code::kArg, "--override-fact ", text, ": no node \"", spec.name, "\"")
        .hint("Expected name:dim,dim,...,dtype with the name of an input");
  }
  fact = node->outputs[0].without_value();
  const std::vector<Dim> old = fact.shape;
  fact.shape.clear();
  for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
    if (!spec.shape[axis] && axis >= old.size()) {
      return fail(Code::kArg, "--override-fact ", text, ": axis ", axis, " has no extent to keep");
    }
    fact.shape.push_back(spec.shape[axis].value_or(axis < old.size() ? old[axis] : Dim(1)));
  }
  if (spec.dtype) fact.dtype = *spec.dtype;
  auto changed = transforms::with_source_fact(*graph, spec.name, fact);
  if (!changed.ok()) {
    Status status = changed.take_status();
    status.error().message = str_cat("--override-fact ", text, ": ", status.error().message);
    return status;
  }
  *graph = std::move(changed).value();
  return {};
}

/// Return whether the model still has an input: loaders may have turned it into a constant.
bool is_input(const std::string& name, const Graph& graph) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.input_name(i) == name) return true;
  }
  return false;
}

Status constantize_by_value(const std::string& name, const Tensor& values,
                            const CommonOptions& common, Graph* graph) {
  if (!is_input(name, *graph) && is_onnx_model(common.file)) return {};
  for (const OutletId input : graph->inputs) {
    if (graph->node(input.node).name != name) continue;
    auto value = as_input(values, graph->fact(input));
    if (!value.ok()) {
      Status status = value.take_status();
      status.error().message = str_cat("--constantize ", name, ": ", status.error().message);
      return status;
    }
    RILL_ASSIGN(*graph, transforms::with_constant_input(*graph, name, *value));
    return {};
  }
  return fail(Code::kArg, "--constantize ", name, ": no such input");
}

Status constantize(const std::string& name, const CommonOptions& common, const Log& log,
                   Graph* graph) {
  if (!is_input(name, *graph) && is_onnx_model(common.file)) return {};
  RILL_ASSIGN(auto values, given_values(common, *graph));
  RILL_ASSIGN(const Bundle bundle, Bundle::read(common.model.legacy_bundles));
  for (const Bundle::Item& item : bundle.items()) values.emplace_back(item.name, item.turns[0]);
  const auto it = std::find_if(values.begin(), values.end(),
                               [&](const auto& each) { return each.first == name; });
  if (it == values.end()) {
    return unknown_name(log, fail(Code::kArg, "--constantize ", name, ": it has no value")
                                 .hint(str_cat("Give it with -i '", name, ":2,f32=1,2'")));
  }
  RILL_ASSIGN(*graph, transforms::with_constant_input(*graph, name, it->second));
  return {};
}

}  // namespace

Result<std::vector<std::pair<std::string, Tensor>>> given_values(const CommonOptions& common,
                                                                 const Graph& graph) {
  std::vector<std::pair<std::string, Tensor>> out;
  size_t unnamed = 0;
  for (const std::string& text : common.model.input_facts) {
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(text));
    std::string name = spec.name;
    if (name.empty()) {
      const size_t index = unnamed++;
      if (index >= graph.inputs.size()) continue;
      name = graph.input_name(index);
    }
    if (!spec.has_values) continue;
    auto value = spec_tensor(spec);
    if (!value.ok()) return value.take_status().hint(str_cat("In --input ", text));
    out.emplace_back(std::move(name), std::move(value).value());
  }
  return out;
}

Status keep_outputs(const std::vector<std::string>& names, Graph* graph) {
  std::vector<OutletId> outputs;
  for (const std::string& name : names) {
    const auto it = std::find(graph->output_names.begin(), graph->output_names.end(), name);
    if (it != graph->output_names.end()) {
      outputs.push_back(graph->outputs[static_cast<size_t>(it - graph->output_names.begin())]);
      continue;
    }
    const auto node = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                                   [&](const Node& each) { return each.name == name; });
    if (node == graph->nodes.end()) {
      return fail(Code::kArg, "Node ", name, " not found")
          .hint(str_cat("The outputs are ", join(graph->output_names, ", ")));
    }
    outputs.push_back({static_cast<int>(node - graph->nodes.begin()), 0});
  }
  if (graph->streaming) {
    std::vector<StreamingOutput> streams;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto it = std::find(graph->outputs.begin(), graph->outputs.end(), outputs[i]);
      if (it == graph->outputs.end()) {
        return fail(Code::kPulse, "Node ", names[i],
                    " is not an output of this pulsed model, whose file describes ",
                    "only the delays of its outputs")
            .hint("Choose outputs of the model before it is pulsed");
      }
      streams.push_back(graph->streaming->output(static_cast<size_t>(it - graph->outputs.begin())));
    }
    graph->streaming->outputs = std::move(streams);
  }
  graph->outputs = std::move(outputs);
  graph->output_names = names;
  *graph = graph->compacted();
  return {};
}

Status edit_interface(const CommonOptions& common, const Log& log, Graph* graph) {
  if (!common.model.input_nodes.empty()) {
    // Only consider the remaining outputs, so that nodes of the others do not matter.
    if (!common.model.output_nodes.empty())
      RILL_TRY(keep_outputs(common.model.output_nodes, graph));
    RILL_ASSIGN(*graph, transforms::with_inputs_at(*graph, common.model.input_nodes));
  } else if (!common.model.output_nodes.empty()) {
    RILL_TRY(keep_outputs(common.model.output_nodes, graph));
  }
  for (const std::string& text : common.model.override_facts) RILL_TRY(override_fact(text, graph));
  RILL_ASSIGN(const auto constants, constant_inputs(common));
  for (const auto& [name, values] : constants) {
    RILL_TRY(values ? constantize_by_value(name, *values, common, graph)
                    : constantize(name, common, log, graph));
  }
  return {};
}

}  // namespace rill::cli
