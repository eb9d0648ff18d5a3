#include "pulse/before/ties.h"

#include <optional>

#include "core/graph/walk.h"
#include "core/graph/written.h"

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

Result<Graph> with_frames(Graph graph, std::string_view symbol) {
  if (!graph.scope.proves_ge(Dim::symbol(symbol), Dim(1))) {
    RILL_TRY(graph.scope.assert_text(str_cat(symbol, " >= 1")));
  }
  // Do not assume that extents are 0 or more: in short streams they may be negative.
  const SymbolScope asserted = graph.scope.without_extents();
  for (Node& node : graph.nodes) {
    const TensorPtr value = constant_of(*node.op);
    if (!value_mentions(value, symbol)) continue;
    const TensorPtr known = simplified(value, asserted);
    node.op = make_op<Const>(known);
    node.outputs = {Fact::of_tensor(known)};
  }
  return graph;
}

}  // namespace rill::pulse
