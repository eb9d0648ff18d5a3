#pragma once

#include "core/graph/op.h"
#include "ops/math/reduce.h"

namespace rill::ops {

/// Combine all frames of a stream so far, one element after the other.
/// Shapes: [.., p, ..] -> [.., 1, ..] on the reduced axes, the streaming axis first among them.
/// Types: those of `Reduce`, except dims. Errors: kShape for a missing axis, kDType.
/// Stream: frame n of `length` lies at position n + delay.
/// Accuracy: the bits of the whole reduction, unless that sums f32 by lanes.
/// Source: NNEF 1.0, `argmax_reduce` and similar operators, over a stream.
struct PulseTally final : OpBase<PulseTally> {
  int64_t kind = 0;  ///< a ReduceKind
  std::vector<int64_t> reduced;
  bool last = false;  ///< argmin, argmax: the last of equal extrema
  int64_t delay = 0;
  Dim length;

  std::string_view name() const override { return "PulseTally"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  OpTraits traits() const override {
    return {.precision = precision_of(static_cast<ReduceKind>(kind))};
  }
  Status fuse(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
