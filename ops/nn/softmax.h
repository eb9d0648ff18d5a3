#pragma once

#include <vector>

#include "core/graph/op.h"

namespace rill::ops {

/// Compute exp(x - max) / sum of exp(x - max) over some axes jointly, or its logarithm.
/// Shapes: any, kept. Types: floats, computed in f32, f64 in f64; quantised ones on the real
/// numbers, to the type `to` with `q`.
/// Errors: kDType; kShape when it is prepared, if there is no such axis.
/// Stream: pointwise on other axes; over the streaming axis it is refused.
/// Source: NNEF 1.0, `softmax`; tract, `tract_core_log_softmax`.
class Softmax final : public OpBase<Softmax> {
 public:
  std::vector<int64_t> over;  ///< ascending, each once
  bool log = false;
  DType to = DType::kF32;  ///< of the output, where the input is quantised
  QParams q;
  Softmax() = default;
  Softmax(std::vector<int64_t> axes_joint, bool logarithm)
      : over(std::move(axes_joint)), log(logarithm) {}
  std::string_view name() const override { return log ? "LogSoftmax" : "Softmax"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axes", over);
    visitor.field("log", log);
    if (!is_quantised(to)) return;
    visitor.field("to", to);
    quant_fields(visitor, q);
  }
  void all_fields(FieldVisitor& visitor) {
    axis_field(visitor, "axes", over);
    visitor.field("log", log);
    visitor.field("to", to);
    quant_fields(visitor, q);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Course course() const override;
  Status pulsify(PulseBuilder& builder) const override;
  Status declutter(Rewrite& rewrite) const override;
  Status fuse(Rewrite& rewrite) const override;
  Cost cost(FactSpan in, FactSpan out) const override;
  Dim work(FactSpan in, FactSpan out) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  OpTraits traits() const override { return {.precision = Precision::kFollows}; }
  Status save(SaveCtx& ctx) const override;
};

}  // namespace rill::ops
