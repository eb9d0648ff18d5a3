#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Count the frames of a stream: start + step * n for frame n.
/// Shapes: no input -> [frames + overlap].
/// Types: none -> i64. Errors: kShape for counts out of range.
/// Stream: `frames` per pulse, preceded by the numbers of `overlap` earlier frames, even before the
/// first. Frame n lies at position n + delay.
/// Source: tract_core_range, for a stream.
struct PulseRange final : OpBase<PulseRange> {
  int64_t start = 0;
  int64_t step = 1;
  int64_t frames = 1;
  int64_t overlap = 0;
  int64_t delay = 0;

  std::string_view name() const override { return "PulseRange"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  Status save(SaveCtx& ctx) const override;
};

/// Output the rows of a table in order, one per frame of a stream.
/// Shapes: [.., R, ..] -> [.., frames, ..] on `axis`.
/// Types: all plain ones. Errors: kShape for a missing axis or counts out of range.
/// Stream: `frames` per pulse; frame n, at position n, is row begin + n. The table is as long as
/// the longest stream that the model is defined for: beyond it, floats are NaN and integers zero.
/// Source: NNEF 1.0, `slice` of a table to the length of the stream.
struct PulseRows final : OpBase<PulseRows> {
  int64_t axis = 0;
  int64_t begin = 0;
  int64_t frames = 1;

  std::string_view name() const override { return "PulseRows"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
