#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Compute the next state of a GRU from the products of its step: z = sigmoid(x_z + r_z),
/// g = sigmoid(x_r + r_r), n = tanh(x_n + g * r_n), h' = n + z * (h - n).
/// Shapes: x, r [.., 3H] with gates z, r, n side by side, h [.., H] -> [.., H].
/// Types: f16, f32.
/// Errors: kShape, also for other types.
/// Stream: pointwise on all axes but the last.
/// Accuracy: kernels/math/functions.h for f32.
/// Source: tract, `tract_core_gru_epilogue`; ONNX, `GRU` with linear_before_reset.
class GruEpilogue final : public OpBase<GruEpilogue> {
 public:
  int64_t hidden = 1;
  GruEpilogue() = default;
  explicit GruEpilogue(int64_t width) : hidden(width) {}
  std::string_view name() const override { return "GruEpilogue"; }
  void fields(FieldVisitor& visitor) override {
    ranged_field(visitor, "hidden", 1, int64_t{1} << 40, hidden);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
