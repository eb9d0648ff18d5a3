#pragma once

#include "core/graph/pulse.h"

namespace rill::pulse {

/// Take from scores of queries against distances those of queries against keys: out[i, j] is
/// in[i, T - 1 - i + j]. Five nodes that pad, reshape and slice make it, as relative attention is
/// written; they are put into one for the time that a graph is pulsed. Three nodes make one of
/// scores against as many distances as there are keys, none of them ahead: what they give for keys
/// that follow a query, j > i, stands for something else, and has to be hidden.
/// Shapes: [.., T, 2 T - 1] -> [.., T, T], or [.., T, T] of distances that are `behind` a query.
/// Types: all plain ones. Errors: kShape.
/// Stream: within attention only.
/// Source: Transformer-XL, the relative shift.
struct RelativeShift final : OpBase<RelativeShift> {
  bool behind = false;

  std::string_view name() const override { return "RelativeShift"; }
  void fields(FieldVisitor& visitor) override { visitor.field("behind", behind); }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
};

/// Put every relative shift of a graph into one node.
Graph gather_shifts(Graph graph, std::string_view symbol);

/// The same for the queries and keys of a pulse: [.., p, p + K - 1] -> [.., p, K], where out[a, b]
/// is in[a, p - 1 - a + b].
Result<OutletId> add_shift(PulseBuilder& b, std::string_view name, OutletId scores, int64_t queries,
                           int64_t keys);

}  // namespace rill::pulse
