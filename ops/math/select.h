#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Take the second input where the first is true, and the third elsewhere.
/// Shapes: three of one rank, extents equal or 1 -> the largest of each.
/// Types: bool, and two of one type, any.
/// Errors: kShape if ranks differ or extents clash; kDType.
/// Stream: pointwise.
/// Source: NNEF 1.0, `select`.
class Select final : public OpBase<Select> {
 public:
  std::string_view name() const override { return "Iff"; }
  void fields(FieldVisitor&) override {}
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  OpTraits traits() const override { return {.precision = Precision::kFollows}; }
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
