#pragma once

#include "core/graph/pulse.h"
#include "ops/nn/resample.h"

namespace rill::ops {

/// Stream a resampling of the streaming axis.
/// Errors: kPulse if coordinates depend on the length of the stream.
Status resample_stream(const ResizeAxis& resize, PulseBuilder& b);

/// Resample the frames of a stream: every `down` frames give `up` frames.
/// Shapes: [.., overlap + p, ..] -> [.., p * up / down, ..] on the axis of `how`; the `overlap`
/// frames are those before the pulse.
/// Types: f32; nearest: all plain ones.
/// Errors: kShape if there is no such axis, a pulse does not divide by `down`, or counts are out of
/// range; kDType.
/// Stream: frame n of the input, which has `length` frames, is at position n + delay; frame n of
/// the output is at n + out_delay. Beyond the edges, the edge frame is repeated.
/// Accuracy: the bits of the whole resampling.
/// Source: ONNX, `Resize`, along a stream.
struct PulseResize final : OpBase<PulseResize> {
  ResizeAxis how;
  int64_t up = 1;
  int64_t down = 1;
  int64_t overlap = 0;
  int64_t delay = 0;
  int64_t out_delay = 0;
  Dim length;

  std::string_view name() const override { return "PulseResize"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
