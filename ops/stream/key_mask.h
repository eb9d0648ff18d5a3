#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Set the scores of keys outside the stream to minus infinity, or their weights to zero.
/// Shapes: [.., W, ..] -> the same; `axis` has the W newest keys.
/// Types: floats. Errors: kShape for a missing axis or counts out of range, kDType.
/// Stream: `pulse` new keys per pulse; key n of `length` is at position n + delay.
/// Source: attention over a stream.
struct PulseKeyMask final : OpBase<PulseKeyMask> {
  int64_t axis = 0;
  int64_t pulse = 1;
  int64_t delay = 0;
  Dim length;
  bool weights = false;  ///< the input is weights, after a softmax or without one: keys outside the
                         ///< stream get weight 0

  std::string_view name() const override { return "PulseKeyMask"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
