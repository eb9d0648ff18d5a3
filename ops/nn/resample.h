#pragma once

#include <string>

#include "core/graph/nnef.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Resample one axis: every output is a weighted sum of the inputs around a coordinate.
/// Shapes: [D0..Dn] -> the same with `to` on `axis`.
/// Types: f32; nearest: all plain ones.
/// Errors: kShape if there is no such axis, or it is empty; kDType; kArg for unknown modes.
/// Stream: pointwise on the other axes. A streaming axis whose frames are repeated N times streams
/// as copies. Other rational scales stream if the coordinates depend on the scale alone: outputs
/// wait for the last frame that they read.
/// Accuracy: weights and sums in f32, over ascending taps.
/// Source: ONNX, `Resize`; tract, `tract_core_resize` and `tract_onnx_resize`.
class ResizeAxis final : public OpBase<ResizeAxis> {
 public:
  int64_t axis = 0;
  Dim to;
  /// Extent of the output divided by that of the input; 0: the ratio of the extents
  float scale = 0.0F;
  std::string coord = "half_pixel";
  std::string interpolator = "nearest";
  std::string nearest = "floor";
  // Options of ONNX only.
  float roi_begin = 0.0F;  ///< of `tf_crop_and_resize`: parts of the input, 0 to 1
  float roi_end = 1.0F;
  float cubic_a = -0.75F;
  float outside = 0.0F;  ///< of `tf_crop_and_resize`: the value where there is no input
  bool exclude_outside = false;
  bool antialias = false;

  std::string_view name() const override { return "Resize"; }
  void fields(FieldVisitor& visitor) override;
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Dim work(FactSpan in, FactSpan out) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;

  /// Return whether the scale alone gives the output's extent.
  bool is_scaled(const Dim& from) const;
  bool is_nearest() const { return interpolator == "nearest"; }
  bool is_crop() const { return coord == "tf_crop_and_resize"; }
  /// Return whether coordinates depend only on the scale, not on the extents.
  bool is_local() const;
  /// Return whether `half_pixel_symmetric` equals `half_pixel`: no fraction of a frame is cut off
  /// at the end, because the scale is an integer or the ratio of the extents.
  bool is_centered() const;
  /// Return how often each element is repeated; 0 if the operator is not a repeat.
  int64_t repeats() const;
};

/// The declared form with every attribute.
extern const NnefOp kResizeAxisForm;

/// Scale an extent: floor(extent * scale), with the product rounded to f32 as in onnxruntime.
/// Errors: kSymbol if the extent is symbolic and the scale is not a fraction.
Result<Dim> scaled_extent(const Dim& extent, float scale);

}  // namespace rill::ops
