#include "pulse/ready.h"

#include "core/base/search.h"
#include "core/optim/optim.h"
#include "ops/built.h"
#include "ops/control/loop_sum.h"
#include "pulse/attention/attention.h"
#include "pulse/before/frames_first.h"
#include "pulse/before/joined_pad.h"
#include "pulse/before/long_streams.h"
#include "pulse/before/sink_edge_padding.h"
#include "pulse/before/weighed_sum.h"

namespace rill::pulse {
namespace {

/// Return the value of a symbol from an asserted equality: S/4 for R, if S == 4*R.
std::optional<Dim> equal_to(const SymbolScope& scope, const std::string& symbol) {
  for (const SymbolScope::Assertion& each : scope.assertions()) {
    if (each.non_negative.size() != 2 || !each.non_negative[0].sum()) continue;
    const Dim& claim = each.non_negative[0];
    if (!(claim + each.non_negative[1] == Dim(0))) continue;
    for (const DimTerm& term : claim.sum()->terms) {
      if (term.key != symbol) continue;
      const int64_t count = term.coefficient;
      const Dim rest = claim - Dim(count) * Dim::symbol(symbol);
      if (rest.mentions(symbol)) continue;
      return count > 0 ? floor_div(-rest, count) : floor_div(rest, -count);
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Graph> with_ties(Graph graph, std::string_view symbol) {
  const std::vector<std::string> symbols = graph.scope.symbols();
  for (const std::string& each : symbols) {
    if (each == symbol) continue;
    const auto tied = equal_to(graph.scope, each);
    if (tied && tied->mentions(symbol)) {
      RILL_ASSIGN(graph, graph.with_symbol(each, *tied));
    }
  }
  return graph;
}

Result<Graph> before_pulsing(const Graph& graph, std::string_view symbol) {
  RILL_ASSIGN(Graph begun, with_ties(graph, symbol));
  // A stream has at least one frame, so results for fewer frames do not matter.
  if (!begun.scope.proves_ge(Dim::symbol(symbol), Dim(1))) {
    RILL_TRY(begun.scope.assert_text(str_cat(symbol, " >= 1")));
  }
  if constexpr (ops::built("long_streams")) {
    RILL_ASSIGN(begun, decided_choices(std::move(begun), symbol));
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
  if constexpr (ops::built("scan") && ops::built("softmax") && ops::built("reduce")) {
    RILL_ASSIGN(simple, loops_of_weighed_sums(std::move(simple), symbol));
  }
  if constexpr (ops::built("pad") || ops::built("stft")) {
    RILL_ASSIGN(simple, sink_edge_padding(std::move(simple), symbol));
  }
  return simple;
}

bool meets_attention(const Graph& graph, std::string_view symbol) {
  if constexpr (!ops::built("attention")) return false;
  auto simple = before_pulsing(graph, symbol);
  if (!simple.ok()) return false;
  const Graph gathered = gather_attention(std::move(simple).value(), symbol);
  return any_of(gathered.nodes,
                [](const Node& node) { return node.op->as<Attention>() != nullptr; });
}

Status refuse_pulsed(const Graph& graph) {
  if (!graph.streaming) return {};
  return fail(Code::kPulse, "this model takes pulses already: a model streams along one symbol")
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

}  // namespace rill::pulse
