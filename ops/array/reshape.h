#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/op.h"

namespace rill::ops {

/// Replace `count` axes, from `axis`, by axes with the extents `to`; elements keep their row-major
/// order.
/// Shapes: [..a, b..] -> [..to..] with equal volume.
/// Types: all except block-quantised constants.
/// Errors: kShape if there are no such axes, or the volumes differ. Symbolic volumes that cannot be
/// compared are compared once they are numbers.
/// Stream: an axis that stays streams. Splitting the streaming axis by g rounds its delay up to a
/// multiple of g, then divides it by g. Merging it with the axes directly after it multiplies the
/// delay. Merging it with a preceding axis is refused.
/// Source: NNEF 1.0, `reshape`.
class Reshape final : public OpBase<Reshape> {
 public:
  int64_t axis = 0;
  int64_t count = 0;
  std::vector<Dim> to;
  Reshape(int64_t first, int64_t axes_replaced, std::vector<Dim> extents)
      : axis(first), count(axes_replaced), to(std::move(extents)) {}
  std::string_view name() const override { return "Reshape"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("axis", axis);
    visitor.field("count", count);
    visitor.field("to", to);
  }
  OpTraits traits() const override { return {.keeps_order = true, .precision = Precision::kMoves}; }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status drop_ones(Rewrite& rewrite) const;
  Status fuse(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
