#include <algorithm>

#include "cli/pipeline.h"
#include "cli/specs.h"

namespace rill::cli {
namespace {

using nlohmann::json;

Status wrong_field(const TransformSpec& spec, std::string_view expected) {
  return fail(Code::kArg, "Transform ", spec.name, ": expected ", expected, ", found ",
              spec.fields.dump());
}

/// Refuse fields that the transform does not have.
Status check_fields(const TransformSpec& spec, std::initializer_list<const char*> known,
                    const Log& log) {
  for (const auto& [key, value] : spec.fields.items()) {
    const bool found =
        std::any_of(known.begin(), known.end(), [&](const char* name) { return key == name; });
    if (found) continue;
    std::string names;
    for (const char* name : known) names += str_cat(names.empty() ? "" : ", ", name);
    RILL_TRY(unknown_name(log, fail(Code::kArg, "Transform ", spec.name, " has no field ", key,
                                    ": it takes ", names)));
  }
  return {};
}

Result<Dim> dim_of(const json& value) {
  if (value.is_number_integer()) return Dim(value.get<int64_t>());
  if (value.is_string()) return parse_dim(value.get<std::string>());
  return fail(Code::kArg, "expected a number or an expression, found ", value.dump());
}

Result<std::vector<std::string>> names_of(const TransformSpec& spec, const char* field) {
  const auto it = spec.fields.find(field);
  if (it == spec.fields.end() || !it->is_array() || it->empty()) {
    return wrong_field(spec, str_cat(field, ": [\"name\", ...]"));
  }
  std::vector<std::string> out;
  for (const json& item : *it) {
    if (!item.is_string()) return wrong_field(spec, str_cat(field, ": [\"name\", ...]"));
    out.push_back(item.get<std::string>());
  }
  return out;
}

Status set_symbols(const TransformSpec& spec, const Log& log, Model* model) {
  RILL_TRY(check_fields(spec, {"values"}, log));
  const auto values = spec.fields.find("values");
  if (values == spec.fields.end() || !values->is_object()) {
    return wrong_field(spec, "values: {\"B\": 1}");
  }
  for (const auto& [symbol, text] : values->items()) {
    RILL_ASSIGN(const Dim value, dim_of(text));
    RILL_TRY(apply_setting(symbol, value, log, model));
  }
  return {};
}

Status pulse_transform(const TransformSpec& spec, const Args& args, const Log& log, Model* model) {
  RILL_TRY(check_fields(spec, {"pulse", "symbol"}, log));
  if (!spec.fields.contains("pulse")) return wrong_field(spec, "pulse: \"8\"");
  const json symbol = spec.fields.value("symbol", json("S"));
  const json pulse = spec.fields["pulse"];
  if (!symbol.is_string() && !symbol.is_null()) return wrong_field(spec, "symbol: Some(\"S\")");
  const std::string text = pulse.is_string() ? pulse.get<std::string>() : pulse.dump();
  const std::string name = symbol.is_null() ? "S" : symbol.get<std::string>();
  RILL_ASSIGN(const auto parsed, parse_pulse_spec(str_cat(name, "=", text)));
  return apply_pulse(parsed.first, parsed.second, args, log, model);
}

Status select_outputs(const TransformSpec& spec, const Log& log, Model* model) {
  RILL_TRY(check_fields(spec, {"outputs"}, log));
  RILL_ASSIGN(const std::vector<std::string> names, names_of(spec, "outputs"));
  Graph& graph = model->graph;
  std::vector<OutletId> outputs;
  for (const std::string& name : names) {
    const auto it = std::find(graph.output_names.begin(), graph.output_names.end(), name);
    if (it != graph.output_names.end()) {
      outputs.push_back(graph.outputs[static_cast<size_t>(it - graph.output_names.begin())]);
      continue;
    }
    const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [&](const Node& each) { return each.name == name; });
    if (node == graph.nodes.end()) {
      return fail(Code::kArg, "Node ", name, " not found")
          .hint(str_cat("The outputs are ", join(graph.output_names, ", ")));
    }
    outputs.push_back({static_cast<int>(node - graph.nodes.begin()), 0});
  }
  graph.outputs = std::move(outputs);
  graph.output_names = names;
  graph = graph.compacted();
  return {};
}

Status select_inputs(const TransformSpec& spec, const Log& log, Model* model) {
  RILL_TRY(check_fields(spec, {"inputs"}, log));
  RILL_ASSIGN(const std::vector<std::string> names, names_of(spec, "inputs"));
  Graph& graph = model->graph;
  const auto uses = graph.count_uses();
  std::vector<OutletId> inputs;
  for (const std::string& name : names) {
    const auto it = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](OutletId input) {
      return graph.node(input.node).name == name;
    });
    if (it == graph.inputs.end()) return fail(Code::kArg, "Node ", name, " is not an input");
    inputs.push_back(*it);
  }
  for (const OutletId input : graph.inputs) {
    if (std::find(inputs.begin(), inputs.end(), input) != inputs.end()) continue;
    if (uses[static_cast<size_t>(input.node)][0] == 0) continue;
    return fail(Code::kArg, "Transform select_inputs: input ", graph.node(input.node).name,
                " is still used")
        .hint("Select outputs that do not need it first");
  }
  graph.inputs = std::move(inputs);
  graph = graph.compacted();
  return {};
}

Status set_property(const TransformSpec& spec, const Log& log, Model* model) {
  RILL_TRY(check_fields(spec, {"key", "value"}, log));
  const auto key = spec.fields.find("key");
  const auto value = spec.fields.find("value");
  if (key == spec.fields.end() || !key->is_string() || value == spec.fields.end()) {
    return wrong_field(spec, "key: \"name\", value: \"text\"");
  }
  Tensor tensor;
  if (value->is_number_integer()) {
    tensor = Tensor::scalar(value->get<int64_t>());
  } else if (value->is_number()) {
    tensor = Tensor::scalar(value->get<float>());
  } else if (value->is_boolean()) {
    tensor = Tensor::scalar(value->get<bool>());
  } else {
    tensor = Tensor::scalar(value->is_string() ? value->get<std::string>() : value->dump());
  }
  model->graph.properties.insert_or_assign(key->get<std::string>(), std::move(tensor));
  return {};
}

}  // namespace

Status apply_transform(const TransformSpec& spec, const Args& args, const Log& log, Model* model) {
  if (spec.name == "set_symbols") return set_symbols(spec, log, model);
  if (spec.name == "pulse") return pulse_transform(spec, args, log, model);
  if (spec.name == "select_outputs") return select_outputs(spec, log, model);
  if (spec.name == "select_inputs") return select_inputs(spec, log, model);
  if (spec.name == "set_property") return set_property(spec, log, model);
  return fail(Code::kUnsupported, "Could not find transform named ", spec.name)
      .hint("rill has set_symbols, pulse, select_inputs, select_outputs and set_property");
}

}  // namespace rill::cli
