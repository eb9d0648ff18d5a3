#include "pulse/ready.h"

#include <utility>

#include "ops/built.h"
#include "pulse/attention/front_keys.h"
#include "pulse/attention/skew.h"
#include "pulse/before/passes.h"

namespace rill::pulse {

Result<Graph> before_pulsing(Graph graph, std::string_view symbol) {
  for (const Pass pass : passes()) {
    if (!pass) continue;
    RILL_ASSIGN(graph, pass(std::move(graph), symbol));
  }
  return graph;
}

namespace {

Ready with_attention(Graph simple, std::string_view symbol) {
  Ready out{std::move(simple), {}};
  if constexpr (ops::built("attention")) {
    out.whole = gather_shifts(std::move(out.whole), symbol).compacted();
    out.attention = attention_of(out.whole, symbol);
  }
  return out;
}

}  // namespace

bool meets_attention(const Graph& graph, std::string_view symbol) {
  auto simple = before_pulsing(graph, symbol);
  if (!simple.ok()) return false;
  return !with_attention(std::move(simple).value(), symbol).attention.products.empty();
}

Status refuse_pulsed(const Graph& graph) {
  if (!graph.streaming) return {};
  return fail(Code::kPulse, "this model is pulsed already; a model streams along one symbol only")
      .hint("Pulse the model as it was exported, along one symbol, and bind the others");
}

Result<Ready> ready_for_pulses(const Graph& graph, const Options& options) {
  RILL_TRY(refuse_pulsed(graph));
  RILL_ASSIGN(Graph simple, before_pulsing(graph, options.symbol));
  return with_attention(std::move(simple), options.symbol);
}

Result<std::optional<Ready>> with_front_keys(const Ready& ready, const Options& options,
                                             bool pads) {
  if constexpr (ops::built("attention")) return join_front_late(ready, options.symbol, pads);
  return std::optional<Ready>();
}

}  // namespace rill::pulse
