#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Return lengths of sequences unchanged, and state their range: 0 to `frames`.
/// Shapes: any, kept. Types: integers.
/// Errors: kShape if a constant is out of range; kDType. Sessions refuse inputs out of
/// range, and whole runs also lengths that the model computes.
/// Stream: pointwise. Where `frames` counts the stream, which has not ended, only negative lengths
/// are out of range.
/// Source: ONNX, `sequence_lens` of `LSTM` and `ReverseSequence`.
class Lengths final : public OpBase<Lengths> {
 public:
  Dim frames = 0;
  Lengths() = default;
  explicit Lengths(Dim most) : frames(std::move(most)) {}
  std::string_view name() const override { return "Lengths"; }
  void fields(FieldVisitor& visitor) override { visitor.field("frames", frames); }
  Result<Facts> infer(FactSpan in) const override;
  std::optional<NumberRange> indices(int input, FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  Status pulsify(PulseBuilder& builder) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override {
    return elementwise_axes(in, out);
  }
  OpTraits traits() const override { return {.keeps_order = true}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
