#include <algorithm>
#include <array>

#include "cli/caches.h"
#include "cli/edits.h"
#include "cli/pipeline.h"
#include "cli/specs.h"
#include "cli/transform_fields.h"
#include "core/base/search.h"
#include "nnef_loader/properties.h"
#include "ops/op_table.h"
#include "transforms/batchify.h"
#include "transforms/block_quant.h"
#include "transforms/float_precision.h"
#include "transforms/kv_cache.h"
#include "transforms/patch.h"
#include "transforms/scan_state.h"

namespace rill::cli {
namespace {

using nlohmann::json;

/// The context of a transform.
struct Work {
  const TransformSpec& spec;
  const CommonOptions& common;
  const Log& log;
  Model* model;
};

Status set_symbols(const Work& work) {
  const auto& [spec, common, log, model] = work;
  RILL_TRY(check_fields(spec, {"values"}, log));
  const auto values = spec.fields.find("values");
  if (values == spec.fields.end()) return {};
  if (!values->is_object()) {
    return wrong_field(spec, "values: {\"B\": 1}");
  }
  for (const auto& [symbol, text] : values->items()) {
    RILL_ASSIGN(const Dim value, dim_of(text));
    RILL_TRY(apply_setting(symbol, value, log, model));
  }
  return {};
}

Status pulse_transform(const Work& work) {
  const auto& [spec, common, log, model] = work;
  RILL_TRY(check_fields(spec, {"pulse", "symbol"}, log));
  if (!spec.fields.contains("pulse")) return wrong_field(spec, "pulse: \"8\"");
  const json symbol = spec.fields.value("symbol", json(kDefaultStreamSymbol));
  const json pulse = spec.fields["pulse"];
  if (!symbol.is_string() && !symbol.is_null()) return wrong_field(spec, "symbol: Some(\"S\")");
  const std::string text = pulse.is_string() ? pulse.get<std::string>() : pulse.dump();
  const std::string name =
      symbol.is_null() ? std::string(kDefaultStreamSymbol) : symbol.get<std::string>();
  RILL_ASSIGN(const auto parsed, parse_pulse_spec(str_cat(name, "=", text)));
  return apply_pulse(parsed.first, parsed.second, common, log, model);
}

Status select_outputs(const Work& work) {
  RILL_TRY(check_fields(work.spec, {"outputs"}, work.log));
  RILL_ASSIGN(const std::vector<std::string> names, names_of(work.spec, "outputs"));
  return keep_outputs(names, &work.model->graph);
}

Status select_inputs(const Work& work) {
  const auto& [spec, common, log, model] = work;
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

Status set_property(const Work& work) {
  const auto& [spec, common, log, model] = work;
  RILL_TRY(check_fields(spec, {"key", "value"}, log));
  const auto key = spec.fields.find("key");
  const auto value = spec.fields.find("value");
  if (key == spec.fields.end() || !key->is_string() || value == spec.fields.end()) {
    return wrong_field(spec, "key: \"name\", value: \"text\"");
  }
  if (*key == "tract.name" && value->is_string()) {
    model->graph.name = value->get<std::string>();
    return {};
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
  std::map<std::string, Tensor> properties = nnef::properties_of(model->graph);
  properties.insert_or_assign(key->get<std::string>(), std::move(tensor));
  return nnef::set_properties(std::move(properties), &model->graph);
}

/// Apply a rewriting of graphs to the model, and to the pair of graphs that an audit compares.
template <class Rewriting>
Status rewrite_model(Model* model, Rewriting rewriting) {
  for (std::optional<Graph>* graph : {&model->whole, &model->streamed}) {
    if (!*graph) continue;
    RILL_ASSIGN(*graph, rewriting(**graph));
  }
  RILL_ASSIGN(model->graph, rewriting(model->graph));
  return {};
}

Status float_precision(const Work& work, DType from, DType to) {
  RILL_ASSIGN(const transforms::NodeFilter filter, node_filter(work.spec));
  std::vector<std::string> notes;
  RILL_TRY(rewrite_model(work.model, [&](const Graph& graph) {
    notes.clear();
    return transforms::with_float_type(graph, from, to, filter, &notes);
  }));
  for (const std::string& note : notes) work.log.warn(note);
  return {};
}

Status f32_to_f16(const Work& work) {
  RILL_TRY(check_fields(work.spec, {"filter", "include", "exclude"}, work.log));
  return float_precision(work, DType::kF32, DType::kF16);
}

Status f16_to_f32(const Work& work) {
  RILL_TRY(check_fields(work.spec, {"filter", "include", "exclude"}, work.log));
  return float_precision(work, DType::kF16, DType::kF32);
}

Status any_precision(const Work& work) {
  RILL_TRY(check_fields(work.spec, {"from", "to", "include", "exclude"}, work.log));
  RILL_ASSIGN(const DType from, float_type_of(work.spec, "from"));
  RILL_ASSIGN(const DType to, float_type_of(work.spec, "to"));
  return float_precision(work, from, to);
}

Status patch(const Work& work) {
  const TransformSpec& spec = work.spec;
  RILL_TRY(check_fields(spec, {"body", "new_outputs"}, work.log));
  const auto body = spec.fields.find("body");
  if (body == spec.fields.end() || !body->is_string()) {
    return wrong_field(spec, "body: \"x = op(y);\"");
  }
  std::vector<std::string> outputs;
  if (spec.fields.contains("new_outputs") && !spec.fields["new_outputs"].empty()) {
    RILL_ASSIGN(outputs, names_of(spec, "new_outputs"));
  }
  RILL_ASSIGN(work.model->graph, transforms::patched(work.model->graph, body->get<std::string>(),
                                                     outputs, ops::op_table()));
  return {};
}

Status batchify(const Work& work) {
  const TransformSpec& spec = work.spec;
  RILL_TRY(check_fields(spec, {"symbol", "shared"}, work.log));
  const nlohmann::json symbol = spec.fields.value("symbol", nlohmann::json());
  if (!symbol.is_null() && !symbol.is_string()) return wrong_field(spec, "symbol: Some(\"B\")");
  const std::string name = symbol.is_null() ? "B" : symbol.get<std::string>();
  std::vector<std::string> shared;
  if (spec.fields.contains("shared") && !spec.fields["shared"].empty()) {
    RILL_ASSIGN(shared, names_of(spec, "shared"));
  }
  return rewrite_model(
      work.model, [&](const Graph& graph) { return transforms::with_batch(graph, name, shared); });
}

Status export_scan_state(const Work& work) {
  RILL_ASSIGN(work.model->graph, transforms::export_scan_state(work.model->graph));
  return {};
}

Status force_scan_external_state(const Work& work) {
  return rewrite_model(work.model, transforms::force_external_state);
}

/// Find and unfold caches, in one step because the caller owns them. Found caches start empty if no
/// value is given, as if they were inside the model.
Status detect_kv_cache(const Work& work) {
  return rewrite_model(work.model, [](const Graph& graph) -> Result<Graph> {
    std::vector<std::string> caches;
    RILL_ASSIGN(Graph out, transforms::with_unfolded_caches(graph, &caches));
    if (caches.empty()) return out;
    RILL_ASSIGN(Tensor names, Tensor::of<std::string>(
                                  DType::kString, {static_cast<int64_t>(caches.size())}, caches));
    out.properties.insert_or_assign(kCachesProperty, std::move(names));
    return out;
  });
}

Status unfold_kv_cache(const Work& work) {
  return rewrite_model(work.model, [](const Graph& graph) -> Result<Graph> {
    RILL_ASSIGN(Graph out, transforms::with_unfolded_caches(graph));
    out.properties.erase(kCachesProperty);
    return out;
  });
}

Status block_quant(const Work& work) {
  return rewrite_model(work.model, transforms::with_block_quantised_weights);
}

/// tract merges several operators into one here; rill keeps them, with the same result.
Status nothing(const Work&) { return {}; }

/// Nothing to prepare: wires of positions need no memory in a stream, and pulsing finds the blocks
/// of a stream.
Status nothing_of_symbol(const Work& work) {
  RILL_TRY(check_fields(work.spec, {"symbol"}, work.log));
  const json symbol = work.spec.fields.value("symbol", json());
  if (symbol.is_null() || symbol.is_string()) return {};
  return wrong_field(work.spec, "symbol: Some(\"S\")");
}

struct TransformRow {
  const char* name;
  Status (*apply)(const Work&);
  /// Whether the transform only changes numbers: pulsing computes with these, so the transform
  /// comes first.
  bool before_pulse = false;
};

constexpr std::array kTransforms{
    TransformRow{"set_symbols", set_symbols},
    TransformRow{"pulse", pulse_transform},
    TransformRow{"select_inputs", select_inputs},
    TransformRow{"select_outputs", select_outputs},
    TransformRow{"set_property", set_property},
    TransformRow{"f32_to_f16", f32_to_f16, true},
    TransformRow{"f16_to_f32", f16_to_f32, true},
    TransformRow{"float_precision", any_precision, true},
    TransformRow{"patch", patch},
    TransformRow{"export_scan_state", export_scan_state},
    TransformRow{"force_scan_external_state", force_scan_external_state},
    TransformRow{"batchify", batchify},
    TransformRow{"unfold_kv_cache", unfold_kv_cache},
    TransformRow{"block_quant", block_quant},
    TransformRow{"detect_kv_cache", detect_kv_cache},
    TransformRow{"transformers_detect_all", detect_kv_cache},
    TransformRow{"batchify_data_free", nothing_of_symbol},
    TransformRow{"blockify", nothing_of_symbol},
    TransformRow{"detect_apply_rope", nothing},
    TransformRow{"detect_diag_gather", nothing},
    TransformRow{"detect_scaled_masked_softmax", nothing},
    TransformRow{"detect_sdpa_kv_cache_broadcast", nothing},
};

}  // namespace

bool comes_before_pulse(const TransformSpec& spec) {
  return any_of(kTransforms, [&](const TransformRow& row) {
    return row.before_pulse && spec.name == row.name;
  });
}

Status apply_transform(const TransformSpec& spec, const CommonOptions& common, const Log& log,
                       Model* model) {
  std::string names;
  for (const TransformRow& row : kTransforms) {
    if (spec.name == row.name) return row.apply({spec, common, log, model});
    names += str_cat(names.empty() ? "" : ", ", row.name);
  }
  return fail(Code::kUnsupported, "Could not find transform named ", spec.name)
      .hint(str_cat("rill has ", names));
}

}  // namespace rill::cli
