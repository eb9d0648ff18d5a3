#pragma once

#include "core/graph/op.h"
#include "ops/math/kinds.h"

namespace rill::ops {

/// Compute a function of every element.
/// Shapes: any, kept.
/// Types: floats; abs, neg, sign, square, floor, ceil, round: also integers, and neg, abs, floor,
/// ceil and round dims; not: bool; bitnot: bool and integers. Quantised types compute on the real
/// numbers and keep their parameters. The output has the input's type; is_nan, is_inf: bool.
/// Errors: kDType.
/// Stream: pointwise.
/// Accuracy: kernels/math/functions.h for f32.
/// Source: NNEF 1.0, `exp` and similar operators; tract, `tract_core_erf` and similar operators.
class Unary final : public OpBase<Unary> {
 public:
  UnaryKind kind_of = UnaryKind::kNeg;
  float alpha = 0.0F;
  Unary() = default;
  explicit Unary(UnaryKind which, float parameter = 0.0F) : kind_of(which), alpha(parameter) {}
  std::string_view name() const override;
  void fields(FieldVisitor& visitor) override;
  void all_fields(FieldVisitor& visitor);
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  OpTraits traits() const override {
    const bool leaks = kind_of == UnaryKind::kLeakyRelu && alpha > 0.0F && alpha <= 1.0F;
    // 1 - erf(x) cancels: the rounding error of erf(x) remains.
    const bool grows = kind_of == UnaryKind::kSquare || kind_of == UnaryKind::kExp ||
                       kind_of == UnaryKind::kSinh || kind_of == UnaryKind::kCosh ||
                       kind_of == UnaryKind::kErf;
    return {.per_element = true,
            .slope = leaks ? alpha : 0.0F,
            .precision = grows ? Precision::kGrows : Precision::kFollows};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
