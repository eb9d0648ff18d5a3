#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Keep the elements on one side of a diagonal of the last two axes, and put 0 elsewhere.
/// `upper`: keeps column >= row + k, else column <= row + k. `k` may be a symbolic expression, such
/// as the length of a cache.
/// Shapes: [D0..R, C], kept. Types: all plain ones and dims. Errors: kShape if the rank is below 2,
/// kSymbol if a run does not determine `k`.
/// Stream: pointwise on the other axes. The last two may be the queries and keys of attention.
/// Source: ONNX, `Trilu`; tract, `tract_core_trilu`.
class Trilu final : public OpBase<Trilu> {
 public:
  Dim k;
  bool upper = false;
  std::string_view name() const override { return "Trilu"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("k", k);
    visitor.field("upper", upper);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  Status pulsify(PulseBuilder& builder) const override;
  bool foldable() const override { return k.is_const(); }
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
