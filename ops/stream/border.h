#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Pad a stream at both ends with its own frames: the first and the last one repeated, or the
/// adjacent ones mirrored.
/// Shapes: [.., overlap + p, ..] -> [.., shown + p, ..] on `axis`; both end with the newest pulse.
/// Types: all plain ones. Errors: kShape for a missing axis or counts that do not fit.
/// Stream: frame n of the input is at position n + delay; the input has `length` frames. Frame m of
/// the padded stream is at position m + out_delay of the output; the first `before` of its frames
/// are padding. Frames outside the padded stream are undefined.
/// Source: NNEF 1.0, `pad`, for a stream.
struct PulseBorder final : OpBase<PulseBorder> {
  int64_t axis = 0;
  int64_t overlap = 0;  ///< earlier frames that precede the pulse in the input
  int64_t shown = 0;    ///< earlier frames that precede the pulse in the output
  int64_t delay = 0;
  int64_t out_delay = 0;
  int64_t before = 0;
  bool reflect = false;
  Dim length;  ///< of the input, in the stream symbol

  std::string_view name() const override { return "PulseBorder"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  Status declutter(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
