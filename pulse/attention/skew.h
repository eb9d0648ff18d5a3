#pragma once

#include "core/graph/pulse.h"

namespace rill::pulse {

/// Convert scores of queries against distances to scores of queries against keys: out[i, j] is
/// in[i, nearest + step * (j - i)]. Exporters write relative attention as five nodes that pad,
/// reshape and slice, or as a gather at differences of positions; this operator replaces them while
/// a graph is pulsed. Three nodes do it for scores with one distance per key, none of them ahead.
/// Their results for keys that follow a query, j > i, are meaningless and must be masked.
/// Shapes: [.., T, D] -> [.., T, T]; all distances lie in D, or those of keys up to the query if it
/// has `past_only`.
/// Types: all plain ones. Errors: kShape.
/// Stream: between scores and values only.
/// Source: Transformer-XL, the relative shift.
struct RelativeShift final : OpBase<RelativeShift> {
  Dim nearest = Dim(0);  ///< the index of distance 0
  int64_t step = 1;      ///< 1, or -1 if earlier keys have larger indices
  bool past_only = false;

  std::string_view name() const override { return "RelativeShift"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("nearest", nearest);
    visitor.field("step", step);
    visitor.field("behind", past_only);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Course course() const override;
};

/// Replace each gather of scores at differences of positions by a relative shift. Its reshapes are
/// only recognised before others put the frames first.
Result<Graph> with_gathered_shifts(Graph graph, std::string_view symbol);

/// Replace the nodes of each other relative shift of a graph by one node.
Graph gather_shifts(Graph graph, std::string_view symbol);

/// Add a shift for the queries and keys of a pulse: [.., p, p + K - 1] -> [.., p, K], where out[a,
/// b] is in[a, p - 1 - a + b].
Result<OutletId> add_shift(PulseBuilder& b, std::string_view name, OutletId scores, int64_t queries,
                           int64_t keys);

}  // namespace rill::pulse
