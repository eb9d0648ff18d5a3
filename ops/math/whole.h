#pragma once

#include "core/graph/op.h"
#include "core/graph/pulse.h"
#include "ops/math/reduce.h"

namespace rill::ops {

/// Combine all frames of a stream so far.
/// `lanes`: sum by the lanes that a whole reduction of trailing axes has.
/// Shapes: [.., p, ..] -> [.., 1, ..] on the reduced axes, the streaming axis first among them.
/// Types: f32. Errors: kShape for a missing axis, kDType.
/// Stream: frame n of `length` lies at position n + delay.
/// Accuracy: the bits of the whole reduction.
/// Source: NNEF 1.0, `sum_reduce` and similar operators, over a stream.
struct PulseReduce final : OpBase<PulseReduce> {
  int64_t kind = 0;  ///< a ReduceKind: kSum, kProduct, kMin or kMax
  std::vector<int64_t> reduced;
  bool lanes = false;
  int64_t delay = 0;
  Dim length;

  std::string_view name() const override { return "PulseReduce"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  OpTraits traits() const override {
    return {.precision = precision_of(static_cast<ReduceKind>(kind))};
  }
  Status save(SaveCtx& ctx) const override;
};

/// Make the reduction of f32 over a stream; `rank` is that of the input.
std::shared_ptr<PulseReduce> reduce_stream(ReduceKind kind, std::vector<int64_t> reduced, int rank,
                                           const StreamFact& stream);

}  // namespace rill::ops
