#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Keep frames [begin, end) of a stream once they have arrived.
/// Shapes: [.., p, ..] -> [.., end - begin, ..] on `axis`. Types: all plain ones.
/// Errors: kShape for a missing axis or counts out of range.
/// Stream: frame n is at position n + delay. Frames that have not arrived are zero.
/// Source: NNEF 1.0, `slice` to a fixed number of frames of a stream.
struct PulseLatch final : OpBase<PulseLatch> {
  int64_t axis = 0;
  int64_t begin = 0;
  int64_t end = 1;
  int64_t delay = 0;

  std::string_view name() const override { return "PulseLatch"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

/// Overwrite positions of a stream with a static prefix from `begin`, and with a static suffix from
/// `end`, once the end is known. The first `shown` frames of each pulse repeat the previous pulse.
/// Inputs: the stream, the prefix if any, the suffix if any.
/// Shapes: [.., p, ..] -> the same. Types: all plain ones.
/// Errors: kShape for a missing axis or shapes that do not fit, kDType.
/// Source: NNEF 1.0, `concat` of a stream with static frames.
struct PulseSplice final : OpBase<PulseSplice> {
  int64_t axis = 0;
  bool has_prefix = false;
  bool has_suffix = false;
  int64_t begin = 0;
  Dim end = 0;
  int64_t shown = 0;

  std::string_view name() const override { return "PulsedSameAxisConcat"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
