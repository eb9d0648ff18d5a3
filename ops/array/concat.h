#pragma once

#include <cstdint>

#include "core/graph/op.h"

namespace rill::ops {

/// Join tensors along one axis.
/// Shapes: [D0..Ni..Dn], one for each input -> [D0..sum of Ni..Dn]; no broadcasting.
/// Types: all, block-quantised constants excepted; all inputs of one type.
/// Errors: kShape if there is no input or no such axis, or other extents differ; kDType.
/// Stream: on the streaming axis one input streams and the others, of fixed lengths, stand before
/// and after it: constants, or frames of the stream that were kept. Other axes: joined in each
/// pulse.
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
