#pragma once

#include <cstdint>

#include "core/graph/op.h"

namespace rill::ops {

/// Join tensors along one axis.
/// Shapes: [D0..Ni..Dn] per input -> [D0..sum of Ni..Dn]; no broadcasting.
/// Types: all except block-quantised constants; all inputs have one type.
/// Errors: kShape without inputs, if there is no such axis, or if other extents differ; kDType.
/// Stream: on the streaming axis, one input streams. The others come before and after it and have
/// fixed lengths: constants, or frames of the stream that were kept. On other axes, each pulse is
/// joined.
/// Source: NNEF 1.0, `concat`.
class Concat final : public OpBase<Concat> {
 public:
  int64_t axis = 0;
  explicit Concat(int64_t on) : axis(on) {}
  std::string_view name() const override { return "Concat"; }
  void fields(FieldVisitor& visitor) override { visitor.field("axis", axis); }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  std::optional<SizeRatio> size(const SizeTrace& trace) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  OpTraits traits() const override { return {.precision = Precision::kMoves}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
