#include "pulse/ready.h"

#include <utility>

#include "core/base/search.h"
#include "ops/built.h"
#include "pulse/attention/attention.h"
#include "pulse/attention/front_keys.h"
#include "pulse/before/passes.h"

namespace rill::pulse {

Result<Graph> before_pulsing(Graph graph, std::string_view symbol) {
  for (const Pass pass : passes()) {
    if (!pass) continue;
    RILL_ASSIGN(graph, pass(std::move(graph), symbol));
  }
  return graph;
}

bool meets_attention(const Graph& graph, std::string_view symbol) {
  if constexpr (!ops::built("attention")) return false;
  auto simple = before_pulsing(graph, symbol);
  if (!simple.ok()) return false;
  const Graph gathered = gather_attention(std::move(simple).value(), symbol);
  return any_of(gathered.nodes,
                [](const Node& node) { return attention_of(node) != nullptr; });
}

Status refuse_pulsed(const Graph& graph) {
  if (!graph.streaming) return {};
  return fail(Code::kPulse, "this model is pulsed already; a model streams along one symbol only")
      .hint("Pulse the model as it was exported, along one symbol, and bind the others");
}

Result<Graph> ready_for_pulses(const Graph& graph, const Options& options) {
  RILL_TRY(refuse_pulsed(graph));
  RILL_ASSIGN(Graph whole, before_pulsing(graph, options.symbol));
  if constexpr (ops::built("attention")) {
    whole = gather_attention(std::move(whole), options.symbol);
  }
  return whole;
}

Result<std::optional<Graph>> with_front_keys(const Graph& whole, const Options& options,
                                             bool pads) {
  if constexpr (ops::built("attention")) return join_front_late(whole, options.symbol, pads);
  return std::optional<Graph>();
}

}  // namespace rill::pulse
