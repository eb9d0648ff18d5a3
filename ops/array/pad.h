#pragma once

#include <string>

#include "core/graph/op.h"

namespace rill::ops {

/// Pad every axis before and after. `mode`: "constant" pads with `value`, "replicated" with the
/// nearest element, and "reflect" with the elements mirrored at the first and last element, which
/// are not repeated.
/// Shapes: [D0..Dn] -> [before0 + D0 + after0..].
/// Types: all plain ones; `value` has rank 0 and the input's type.
/// Errors: kShape if `pads` does not match the rank, is negative, or needs more elements to repeat
/// or mirror than there are; kDType; kUnsupported for another mode.
/// Stream: on the streaming axis, "constant" subtracts `before` from the delay; no data moves,
/// except for a mask. The other modes repeat frames of the stream. These frames must have arrived,
/// which bounds the reduction of the delay. A downstream window may read them from its history.
/// Source: NNEF 1.0, `pad`.
class Pad final : public OpBase<Pad> {
 public:
  Pads pads;
  std::string mode = "constant";
  TensorPtr value;
  Pad() = default;
  Pad(Pads amounts, std::string border, TensorPtr fill)
      : pads(std::move(amounts)), mode(std::move(border)), value(std::move(fill)) {}
  std::string_view name() const override { return "Pad"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("pads", pads);
    visitor.field("mode", mode);
    visitor.field("value", value);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  OpTraits traits() const override;
  Status declutter(Rewrite& rewrite) const override;
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
