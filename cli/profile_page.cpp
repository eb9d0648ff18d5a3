#include "cli/profile_page.h"

#include <nlohmann/json.hpp>

#include "cli/dump_text.h"
#include "cli/profile_page_html.h"
#include "cli/say_impl.h"
#include "kernels/cpu.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json, JsonPlace place = JsonPlace::kOutput) {
  return safe_json(json.dump(-1, ' ', false, Json::error_handler_t::replace), place);
}

/// Return the names of the enclosing loops of a node, then its own.
std::string full_name(const Graph& graph, std::span<const int> scope, const std::string& name) {
  std::string out;
  const Graph* around = &graph;
  for (const int loop : scope) {
    out += around->node(loop).name + " / ";
    around = around->node(loop).op->nested();
  }
  return out + name;
}

Json nodes_of(const Graph& graph, const Notes& notes) {
  Json out = Json::array();
  for_each_note(graph, notes,
                [&](std::span<const int> scope, const Graph& inner, int id, const NodeNotes& node) {
                  if (!node.seconds) return;
                  const Node& of = inner.node(id);
                  Json row{{"name", full_name(graph, scope, of.name)},
                           {"op", of.op->name()},
                           {"mean", *node.seconds},
                           {"median", *node.median_seconds},
                           {"p99", *node.p99_seconds},
                           {"max", *node.max_seconds},
                           {"calls", node.calls},
                           {"fma", count_of(node, "FMA")},
                           {"bytes", count_of(node, "Bytes")}};
                  if (node.reach) {
                    row["reach"] = *node.reach;
                    row["limit"] = node.limit;
                  }
                  if (!of.outputs.empty()) row["fact"] = fact_text(of.outputs[0]);
                  out.push_back(std::move(row));
                });
  return out;
}

Json timeline_of(const Graph& graph, const Notes& notes) {
  Json out = Json::array();
  for (const Span& span : notes.timeline) {
    if (span.node < 0 || static_cast<size_t>(span.node) >= graph.nodes.size()) continue;
    const Node& node = graph.node(span.node);
    Json row{{"name", node.name},
             {"op", node.op->name()},
             {"begin_us", static_cast<double>(span.begin_ns) * 1e-3},
             {"us", static_cast<double>(span.ns) * 1e-3}};
    const auto& live = Notes::of(notes.nodes, span.node).live_bytes;
    if (const auto bytes = live ? live->to_int() : std::nullopt) row["live_bytes"] = *bytes;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string profile_page(const std::string& model, const Graph& graph, const Notes& notes) {
  const Json data{{"model", model},
                  {"version", RILL_VERSION},
                  {"tier", kernels::tier_name(kernels::active_tier())},
                  {"iterations", notes.iterations},
                  {"secs_per_iter", notes.seconds_per_run},
                  {"nodes", nodes_of(graph, notes)},
                  {"timeline", timeline_of(graph, notes)}};
  constexpr std::string_view kPlace = "/*DATA*/null";
  std::string page(kProfilePage);
  page.replace(page.find(kPlace), kPlace.size(), text_of(data, JsonPlace::kScript));
  return page;
}

std::string profile_trace(const Graph& graph, const Notes& notes) {
  Json events = Json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", "rill"}}}});
  for (const Json& span : timeline_of(graph, notes)) {
    events.push_back({{"name", span["name"]},
                      {"cat", span["op"]},
                      {"ph", "X"},
                      {"ts", span["begin_us"]},
                      {"dur", span["us"]},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"op", span["op"]}}}});
  }
  return text_of({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}) + "\n";
}

}  // namespace rill::cli
