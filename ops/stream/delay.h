#pragma once

#include "core/graph/graph.h"

namespace rill::ops {

/// Delay the frames of a stream by `delay` frames, preceded by `overlap` earlier frames.
/// Shapes: [.., p, ..] -> [.., p + overlap, ..] on `axis`.
/// Types: all plain ones. Errors: kShape for a missing axis or negative counts.
/// Stream: frame r of the output, for a pulse that starts at position n, is frame n - delay -
/// overlap + r of the input. Before the start of the stream, the input is `pad_value`, or zeros
/// without one.
/// Source: tract_pulse_delay.
struct Delay final : OpBase<Delay> {
  int64_t axis = 0;
  int64_t delay = 0;
  int64_t overlap = 0;
  TensorPtr pad_value;  ///< rank 0, or extent 1 on the axis and broadcastable elsewhere
  /// Additional earlier frames that are kept but not output, so that a session with another pulse
  /// can continue from them.
  int64_t reserve = 0;
  int64_t padding = 0;  ///< frames before the start of the stream that are requested padding

  std::string_view name() const override { return "Delay"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  std::optional<HistoryNeed> history(int input) const override;
  Status declutter(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

/// Return the axis of a node's input that corresponds to an axis of its output, if the node only
/// moves frames along it; else -1.
int axis_upstream(const Graph& graph, const Node& node, int axis);

}  // namespace rill::ops
