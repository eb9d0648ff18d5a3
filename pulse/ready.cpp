#include "pulse/ready.h"

#include <algorithm>

#include "core/optim/optim.h"
#include "ops/built.h"
#include "ops/control/loop_sum.h"
#include "pulse/attention/attention.h"
#include "pulse/before/frames_first.h"
#include "pulse/before/joined_pad.h"
#include "pulse/before/sink_border.h"

namespace rill::pulse {

Result<Graph> before_pulsing(const Graph& graph, std::string_view symbol) {
  Graph begun = graph;
  // A stream has at least one frame; what fewer frames would give is nobody's concern.
  if (!begun.scope.proves_ge(Dim::symbol(symbol), Dim(1))) {
    RILL_TRY(begun.scope.assert_text(str_cat(symbol, " >= 1")));
  }
  RILL_ASSIGN(Graph simple, declutter(begun));
  if constexpr (ops::built("scan")) {
    RILL_ASSIGN(simple, ops::sum_loops(std::move(simple)));
  }
  if constexpr (ops::built("concat") && ops::built("pad")) {
    RILL_ASSIGN(simple, pads_of_joins(std::move(simple), symbol));
  }
  if constexpr (ops::built("reshape")) {
    RILL_ASSIGN(simple, put_frames_first(std::move(simple), symbol));
  }
  if constexpr (ops::built("pad") || ops::built("stft")) {
    RILL_ASSIGN(simple, sink_borders(std::move(simple), symbol));
  }
  return simple;
}

bool meets_attention(const Graph& graph, std::string_view symbol) {
  if constexpr (!ops::built("attention")) return false;
  auto simple = before_pulsing(graph, symbol);
  if (!simple.ok()) return false;
  const Graph gathered = gather_attention(std::move(simple).value(), symbol);
  return std::any_of(gathered.nodes.begin(), gathered.nodes.end(),
                     [](const Node& node) { return node.op->as<Attention>() != nullptr; });
}

Result<Graph> ready_for_pulses(const Graph& graph, const Options& options) {
  if (graph.streaming) {
    return fail(Code::kPulse, "this model takes pulses already: a model streams along one symbol")
        .hint("Pulse the model as it was exported, along one symbol, and bind the others");
  }
  RILL_ASSIGN(Graph whole, before_pulsing(graph, options.symbol));
  if constexpr (ops::built("attention")) {
    whole = gather_attention(std::move(whole), options.symbol);
  }
  return whole;
}

}  // namespace rill::pulse
