#pragma once

#include "core/graph/op.h"

namespace rill::ops {

/// Sum all elements up to each one along one axis.
/// `exclusive`: without the element itself; `reverse`: from the end backwards.
/// Shapes: any, kept. Types: numbers; integers wrap; f16 sums in f32.
/// Errors: kShape if there is no such axis; kDType.
/// Stream: on the streaming axis the sum continues from pulse to pulse, forwards only; an exclusive
/// sum has one frame less delay. Pointwise on other axes.
/// Source: tract, `tract_core_cumsum`, `tract_pulse_cumsum`.
class CumSum final : public OpBase<CumSum> {
 public:
  int64_t axis = 0;
  bool exclusive = false;
  bool reverse = false;
  bool streaming = false;  ///< each evaluation continues the sum of the previous one
  int64_t skip = 0;        ///< frames at the start of a stream that output 0 and are not summed
  CumSum() = default;
  explicit CumSum(int64_t on) : axis(on) {}
  std::string_view name() const override { return streaming ? "PulsedCumSum" : "CumSum"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axis", axis);
    visitor.field("exclusive", exclusive);
    visitor.field("reverse", reverse);
    visitor.field("streaming", streaming);
    frames_field(visitor, "skip", skip);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return !streaming; }
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  Status pulsify(PulseBuilder& builder) const override;
  OpTraits traits() const override { return {.precision = Precision::kSums}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
