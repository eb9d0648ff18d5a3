#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Keep frames near the end of a stream.
/// Shapes: [.., overlap + p, ..] -> [.., frames, ..] on `axis`; the input begins with `overlap`
/// earlier frames.
/// Types: all plain ones. Errors: kShape for a missing axis or counts out of range.
/// Stream: the kept frames are `first`, `first` + 1, ...; `first` may mention the stream symbol.
/// Frame n is at position n + delay. Zeros until the end is known.
/// Source: NNEF 1.0, `slice` of the last frames of a stream.
struct PulseTail final : OpBase<PulseTail> {
  int64_t axis = 0;
  int64_t overlap = 0;
  int64_t frames = 1;
  int64_t delay = 0;
  Dim first;

  std::string_view name() const override { return "PulseTail"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
