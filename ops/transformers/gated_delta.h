#pragma once

#include "core/graph/op.h"
#include "core/graph/pulse.h"

namespace rill::ops {

/// Run linear attention over the frames of a stream: per frame and head of v
/// S <- S exp(g), d = (v - k S) beta, S <- S + k d, y = q S scale.
/// Without decay S is not scaled, and without correction d is v. If requested, queries and keys are
/// normalised to unit length first. Each head of k serves hv / hk heads of v, and likewise each
/// head of q; if q has more heads than v, hq / hv heads of q read the same S.
/// Shapes: q [B, T, hq, a], k [B, T, hk, a], v [B, T, hv, b], g [B, T, hv] or [B, T, hv, a],
/// beta [B, T, hv], first S [B, hv, a, b] -> y [B, T, max(hq, hv), b], last S [B, hv, a, b].
/// Types: all f32; or q, k, v, beta f16, g and S f32. y has the type of q; sums are in f32.
/// Errors: kShape, kDType.
/// Stream: along T the state is kept from pulse to pulse, and the last state is refused; other axes
/// are refused.
/// Source: S. Yang et al., Gated Delta Networks, 2024, equation 10; Hugging Face transformers,
/// `torch_recurrent_gated_delta_rule`; tract, `tract_transformers_gdn_recurrent`; ONNX,
/// `LinearAttention`.
class LinearAttention final : public OpBase<LinearAttention> {
 public:
  bool normalise = true;
  bool decays = true;     ///< whether there is an input of decays, in logarithms
  bool corrects = true;   ///< whether there is an input of betas; k S is then subtracted from v
  float scale = 0.0F;     ///< of the queries; 0 stands for 1 / sqrt(a)
  bool streaming = false;  ///< keep the state from step to step
  int64_t skip = 0;        ///< first frames of the stream that leave S unchanged

  std::string_view name() const override {
    return is_gated_delta() ? "GatedDeltaNetRecurrent" : "LinearAttention";
  }
  void fields(FieldVisitor& visitor) override {
    visitor.field("normalise", normalise);
    visitor.field("decays", decays);
    visitor.field("corrects", corrects);
    visitor.field("scale", scale);
    visitor.field("streaming", streaming);
    frames_field(visitor, "skip", skip);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  int64_t state_bytes(FactSpan in) const override;
  bool foldable() const override { return !streaming; }
  Status pulsify(PulseBuilder& builder) const override;
  Cost cost(FactSpan in, FactSpan) const override {
    const Dim width = in[0].dim(3);
    return {Dim(3) * volume(in[2].shape) * width, Dim(8) * volume(in[2].shape) * width};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;

  /// Return whether tract's operator can express it.
  bool is_gated_delta() const { return normalise && decays && corrects && scale == 0.0F; }
  size_t beta_input() const { return decays ? 4 : 3; }
  size_t state_input() const { return beta_input() + (corrects ? 1 : 0); }

 private:
  Status check_types(FactSpan in) const;
  Status check_gates(FactSpan in) const;
};

}  // namespace rill::ops
