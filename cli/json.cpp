#include "cli/json.h"

#include <nlohmann/json.hpp>

#include "cli/bundle.h"
#include "cli/dump_text.h"
#include "cli/say_impl.h"
#include "nnef_loader/properties.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

/// Return valid JSON text for any bytes in a model's names.
std::string text_of(const Json& json, int indent) {
  return safe_json(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

void put_cost(const CostList& cost, Json* node) {
  if (cost.empty()) return;
  Json numbers = Json::object();
  for (const auto& [kind, count] : cost) {
    (*node)["cost"][kind] = count.to_string();
    if (const auto number = count.to_int()) numbers[kind] = *number;
  }
  if (!numbers.empty()) (*node)["cost_numbers"] = std::move(numbers);
}

Json slot_json(OutletId outlet) { return {{"node", outlet.node}, {"slot", outlet.slot}}; }

Json io_json(const Graph& graph, const std::string& label, OutletId outlet) {
  return {{"name", graph.node(outlet.node).name},
          {"label", label},
          {"node", outlet.node},
          {"slot", outlet.slot},
          {"fact", fact_text(graph.fact(outlet))}};
}

Json outputs_json(const Graph& graph, int id,
                  const std::vector<std::vector<std::vector<OutletId>>>& successors) {
  Json out = Json::array();
  const Node& node = graph.node(id);
  for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
    Json uses = Json::array();
    for (const OutletId use : successors[static_cast<size_t>(id)][slot]) {
      uses.push_back(slot_json(use));
    }
    out.push_back({{"fact", fact_text(node.outputs[slot])}, {"successors", std::move(uses)}});
  }
  return out;
}

Json nodes_json(const Graph& graph, const std::vector<NodeNotes>& notes);

Json node_json(const Graph& graph, int id,
               const std::vector<std::vector<std::vector<OutletId>>>& successors,
               const std::vector<NodeNotes>& notes) {
  const Node& node = graph.node(id);
  Json out{{"id", id}, {"name", node.name}, {"op", node.op->name()}};
  const std::vector<std::string> info = node.op->details();
  if (!info.empty()) out["info"] = info;
  out["inputs"] = Json::array();
  for (const OutletId input : node.inputs) out["inputs"].push_back(slot_json(input));
  out["outputs"] = outputs_json(graph, id, successors);
  const NodeNotes& note = Notes::of(notes, id);
  put_cost(note.cost, &out);
  if (const Graph* body = node.op->nested()) out["nested"]["loop"] = nodes_json(*body, note.body);
  return out;
}

Json nodes_json(const Graph& graph, const std::vector<NodeNotes>& notes) {
  std::vector<std::vector<std::vector<OutletId>>> successors(graph.nodes.size());
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    successors[id].resize(graph.nodes[id].outputs.size());
    for (size_t i = 0; i < graph.nodes[id].inputs.size(); ++i) {
      const OutletId input = graph.nodes[id].inputs[i];
      successors[static_cast<size_t>(input.node)][static_cast<size_t>(input.slot)].push_back(
          {static_cast<int>(id), static_cast<int>(i)});
    }
  }
  Json out = Json::array();
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    out.push_back(node_json(graph, static_cast<int>(id), successors, notes));
  }
  return out;
}

}  // namespace

std::string notes_json(const Graph& graph, const Notes& notes) {
  Json out{{"schema", kSchema}, {"rill_version", RILL_VERSION}};
  out["nodes"] = Json::array();
  for_each_note(graph, notes,
                [&](std::span<const int> scope, const Graph& inner, int id, const NodeNotes& note) {
                  if (note.cost.empty() && !note.seconds && !note.live_bytes) return;
                  Json around = Json::array();
                  for (const int loop : scope) around.push_back(Json::array({loop, "loop"}));
                  Json node{{"qualified_id", Json::array({std::move(around), id})},
                            {"op_name", inner.node(id).op->name()},
                            {"node_name", inner.node(id).name}};
                  put_cost(note.cost, &node);
                  if (note.live_bytes) node["tmp_mem_usage"] = note.live_bytes->to_string();
                  if (note.seconds) {
                    node["secs_per_iter"] = *note.seconds;
                    node["secs_min"] = *note.min_seconds;
                    node["secs_median"] = *note.median_seconds;
                    node["secs_p99"] = *note.p99_seconds;
                    node["secs_max"] = *note.max_seconds;
                    node["calls_per_iter"] = note.calls;
                    if (note.reach) node["reach"] = {{"share", *note.reach}, {"of", note.limit}};
                  }
                  out["nodes"].push_back(std::move(node));
                });
  out["profiling_info"] = nullptr;
  if (notes.profile) {
    out["profiling_info"] = {{"iterations", notes.iterations},
                             {"secs_per_iter", notes.seconds_per_run}};
  }
  return text_of(out, -1);
}

std::string audit_json(const Graph& graph, const Notes& notes) {
  Json out{{"schema", kSchema}, {"rill_version", RILL_VERSION}};
  out["properties"] = Json::object();
  for (const auto& [key, value] : nnef::properties_of(graph)) {
    out["properties"][key] = value_text(value);
  }
  out["assertions"] = Json::array();
  for (const auto& assertion : graph.scope.assertions()) {
    out["assertions"].push_back(assertion.text);
  }
  out["inputs"] = Json::array();
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    out["inputs"].push_back(io_json(graph, graph.input_name(i), graph.inputs[i]));
  }
  out["outputs"] = Json::array();
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    out["outputs"].push_back(io_json(graph, graph.output_names[i], graph.outputs[i]));
  }
  out["nodes"] = nodes_json(graph, notes.nodes);
  return text_of(out, 2);
}

}  // namespace rill::cli
