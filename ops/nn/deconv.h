#pragma once

#include "core/graph/op.h"
#include "ops/nn/clip.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Convolve transposed: every input frame, times the filter, is added to the output; consecutive
/// frames are added `stride` apart.
/// Shapes: input [N, C, D...], filter [O, C / groups, K...], bias [O] -> [N, O, D'...], with
/// D' = (D - 1) * stride + (K - 1) * dilation + 1 - before - after + extra.
/// Types: f16, f32, f64. Errors: kShape, kDType.
/// Stream: on a spatial axis, with a history of the input, and with zeros outside the stream if
/// outputs read them. Windows of delay D give delay (D - n) * stride + before, with
/// n = min(history, before / stride). On the batch axis each frame alone; refused on channels.
/// Accuracy: f32 is one chain of fused multiply-adds per output, over ascending input frames and
/// channels, starting from the bias.
/// Source: NNEF 1.0, `deconv`.
struct Deconv final : OpBase<Deconv> {
  Window window;               ///< padding is cut off the output
  std::vector<int64_t> extra;  ///< additional frames at the end, per spatial axis; or negative
  int64_t groups = 1;
  bool has_bias = true;
  Clip clip;

  std::string_view name() const override { return "Deconv"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  OpTraits traits() const override { return {.by_channels = true}; }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status fuse(Rewrite& rewrite) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Cost cost(FactSpan in, FactSpan out) const override;
  Dim work(FactSpan in, FactSpan out) const override;
  Status save(SaveCtx& ctx) const override;

  /// Return the frames cut off at both ends of a spatial axis; `same` keeps in * stride frames.
  std::pair<int64_t, int64_t> cut(int axis) const RILL_NONBLOCKING;

 private:
  Status absorb_slice(const Node& producer, Rewrite& consumer) const;
};

}  // namespace rill::ops
