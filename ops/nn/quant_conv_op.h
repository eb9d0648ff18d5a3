#pragma once

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/op.h"
#include "ops/nn/window.h"

namespace rill::ops {

/// Correlate a quantised signal with quantised filters, summing in 32-bit integers.
/// Shapes: as `conv`; the bias is [O] of I32, in units of the product of both scales.
/// Types: QU8 and QI8 -> a quantised type, or I32 sums. Padding holds the zero point.
/// Errors: kShape, kDType. Accuracy: the sums are exact; the result rounds half to even.
/// Stream: on a spatial axis, history and a mask of the zero point for the padding; on the batch
/// axis each frame alone; refused on channels.
/// Source: NNEF 1.0, `conv`; tract, `tract_core_qconv`.
struct QuantConv final : OpBase<QuantConv> {
  Window window;
  int64_t groups = 1;
  bool has_bias = false;
  DType to = DType::kI32;
  QParams q;
  bool positive = false;  ///< results are at least the zero point; set by `fuse` only
  /// The sums are integers. NNEF has no such convolution: files contain instead an f64 convolution
  /// of the represented numbers, whose sums are exact.
  bool sums = false;
  /// The zero point of a signal of U8 or I8 is given by two more inputs of one number each, in the
  /// signal's type and in I32; made by `fuse` only.
  bool has_zero = false;

  std::string_view name() const override { return "Conv"; }
  void fields(FieldVisitor& visitor) override {
    window.fields(visitor);
    int64_t zero_point = q.zero_point;
    visitor.field("groups", groups);
    visitor.field("has_bias", has_bias);
    visitor.field("to", to);
    visitor.field("zero_point", zero_point);
    visitor.field("scale", q.scale);
    visitor.field("positive", positive);
    if (sums) visitor.field("sums", sums);
    if (has_zero) visitor.field("has_zero", has_zero);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  OpTraits traits() const override { return {.by_channels = true}; }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<int> track(in.size(), -1);
    track[0] = 0;
    return {{track, {0}}};
  }
  Status pulsify(PulseBuilder& b) const override;
  Cost cost(FactSpan in, FactSpan out) const override {
    Cost cost;
    cost.fma = volume(out[0].shape) * in[1].dim(1);
    for (const int64_t k : window.kernel) cost.fma *= Dim(k);
    cost.bytes = volume(in[0].shape) + volume(in[1].shape) + volume(out[0].shape);
    return cost;
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    RILL_ASSIGN(const std::string w, ctx.in(1));
    std::string bias = "0.0";
    if (has_bias) {
      RILL_ASSIGN(bias, ctx.in(2));
    }
    const auto expression = [&](std::string_view a, std::string_view b, std::string_view c) {
      return str_cat("conv(", a, ", ", b, ", ", c, window_text(window, 0), ", groups = ", groups,
                     ")");
    };
    if (!sums) {
      ctx.assign(expression(x, w, bias));
      return {};
    }
    ctx.need_registry("tract_core");
    const auto as = [](std::string_view type, std::string_view text) {
      return str_cat("tract_core_cast(", text, ", to = ", nnef_text(type), ")");
    };
    ctx.assign(as("i32", expression(as("f64", x), as("f64", w),
                                    has_bias ? as("f64", bias) : std::string("0.0"))));
    return {};
  }
};

}  // namespace rill::ops
