#pragma once

#include "core/graph/op.h"
#include "ops/nn/clip.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Correlate a signal with filters: convolution as in neural networks, without flipping.
/// Shapes: input [N, C, D...], filter [O, C / groups, K...], bias [O] -> [N, O, D'...], with
/// D' = floor((D + before + after - ((K - 1) * dilation + 1)) / stride) + 1, 0 if negative.
/// Types: f16, f32, f64 and integers; all inputs of one type.
/// Errors: kShape for ranks, counts and channels that do not fit; kDType.
/// Stream: on a spatial axis, frames of history and a mask for the padding; on the batch axis each
/// frame alone; refused on channels. Delay D' = max(0, ceil((D + K - stride - before) / stride)).
/// Accuracy: f32 is one chain of fused multiply-adds per output, taps before channels within a
/// frame's window, starting from the bias.
/// Source: NNEF 1.0, `conv`.
struct Conv final : OpBase<Conv> {
  Window window;
  int64_t groups = 1;
  bool has_bias = true;      ///< input 2
  bool has_residual = false; ///< the last input is added to the result; made by `fuse` only
  float slope = 1;           ///< of results below 0, at most 1; made by `fuse` only
  Clip clip;

  std::string_view name() const override { return "Conv"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  Course course() const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  OpTraits traits() const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Dim work(FactSpan in, FactSpan out) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
