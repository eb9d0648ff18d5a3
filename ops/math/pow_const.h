#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Raise every element to a constant power.
/// Shapes: any, kept.
/// Types: f16, f32.
/// Errors: kDType.
/// Stream: pointwise.
/// Accuracy: that of the C library; a cube within 2 ulp, as a product.
/// Source: tract, `tract_core_pow_const`.
class PowConst final : public OpBase<PowConst> {
 public:
  float exponent = 1.0F;
  PowConst() = default;
  explicit PowConst(float power) : exponent(power) {}
  std::string_view name() const override { return "PowConst"; }
  void fields(FieldVisitor& visitor) override { visitor.field("exponent", exponent); }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status fuse(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  OpTraits traits() const override { return {.precision = Precision::kFollows}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
