#pragma once

#include <string>

#include "core/graph/op.h"

namespace rill::ops {

/// Pad every axis before and after. `mode`: "constant" pads with `value`, "replicated" with the
/// nearest element, "reflect" with the elements mirrored at the first and last one, which are not
/// repeated.
/// Shapes: [D0..Dn] -> [before0 + D0 + after0..].
/// Types: all plain ones; `value` is of rank 0 and of the input's type.
/// Errors: kShape if `pads` does not fit the rank or is negative, or there are too few elements to
/// repeat or to mirror; kDType.
/// Stream: on the streaming axis, "constant": delay -= before, no data moves, except a mask. The
/// other modes repeat kept frames, which must have arrived: this limits how far the delay falls. A
/// downstream window finds them in its history.
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
