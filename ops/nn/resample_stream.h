#pragma once

#include "core/graph/pulse.h"
#include "ops/nn/resample.h"

namespace rill::ops {

/// Stream a resampling of the streaming axis.
/// Errors: kPulse if coordinates depend on the length of the stream.
Status resample_stream(const ResizeAxis& resize, PulseBuilder& b);

/// Resample the frames of a stream: `up` of them for `down`.
/// Shapes: [.., overlap + p, ..] -> [.., p * up / down, ..] on the axis of `how`; the earlier
/// frames come first.
/// Types: f32; nearest: all plain ones.
/// Errors: kShape if there is no such axis, a pulse does not divide by `down`, or counts are out of
/// range; kDType.
/// Stream: frame n of `length` lies at position n + delay, those of the output at n + out_delay;
/// beyond the edges, the edge frame is repeated.
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
