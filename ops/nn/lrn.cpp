#include <algorithm>
#include <cmath>

#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"

namespace rill::ops {
namespace {

/// Divide each element by a power of the sum of squares of its neighbours in the channel axis:
/// y = x / (bias + alpha / size * sum x[c']^2)^beta, c - (size - 1) / 2 <= c' <= c + size / 2.
/// Shapes: [N, C, D..], kept. Types: f16, f32, f64. Errors: kShape, kDType.
/// Stream: pointwise on all axes but the channels.
/// Source: ONNX, `LRN`; tract, `tract_onnx_lrn`.
class Lrn final : public OpBase<Lrn> {
 public:
  float alpha = 1e-4F;
  float beta = 0.75F;
  float bias = 1.0F;
  int64_t size = 1;

  std::string_view name() const override { return "Lrn"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("alpha", alpha);
    visitor.field("beta", beta);
    visitor.field("bias", bias);
    ranged_field(visitor, "size", 1, int64_t{1} << 31, size);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    RILL_CHECK(in[0].rank() >= 2, "input ", in[0], ": expected batch and channels");
    RILL_CHECK(size >= 1 && size <= (int64_t{1} << 31), "size ", size, ": expected 1 to 2^31");
    if (!is_float(in[0].dtype)) return fail(Code::kDType, "input ", in[0], ": expected floats");
    return one_fact(in[0].without_value());
  }
  Status eval(EvalCtx& ctx) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int i = 0; i < in[0].rank(); ++i) {
      if (i != 1) tracks.push_back({{i}, {i}});
    }
    return tracks;
  }
  Status pulsify(PulseBuilder& b) const override {
    if (!b.stream(0) || b.stream(0)->axis != 1) return Op::pulsify(b);
    return b.refuse("Stream along time, not along channels",
                    "it sums over the streaming axis 1, that of the channels");
  }
  Cost cost(FactSpan in, FactSpan) const override {
    const Dim count = volume(in[0].shape);
    return {count * Dim(size), Dim(2 * dtype_size(in[0].dtype)) * count};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

Status Lrn::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const int64_t channels = x.extent(1);
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    using W = Wide<T>;
    if constexpr (std::is_floating_point_v<W>) {
      const W scale = static_cast<W>(alpha) / static_cast<W>(size);
      for_each_element<2>({without_axis(x, 1), without_axis(y, 1)},
                          [&](const std::array<int64_t, 2>& at) {
                            const auto value = [&](int64_t c) {
                              return upcast(x.as<const T>()[at[0] + c * x.step(1)]);
                            };
                            for (int64_t c = 0; c < channels; ++c) {
                              const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2);
                              const int64_t last = std::min(channels - 1, c + size / 2);
                              W sum = 0;
                              for (int64_t k = first; k <= last; ++k) sum += value(k) * value(k);
                              const W base = static_cast<W>(bias) + scale * sum;
                              y.as<T>()[at[1] + c * y.step(1)] =
                                  narrow<T>(value(c) / std::pow(base, static_cast<W>(beta)));
                            }
                          });
    }
  });
  return {};
}

constexpr NnefOp kOps[] = {
    {"tract_onnx",
     "fragment tract_onnx_lrn(input: tensor<scalar>, alpha: scalar = 0.0001, beta: scalar = 0.75,"
     " bias: scalar = 1.0, size: integer) -> (output: tensor<scalar>);",
     load_on_input<Lrn>},
};

constexpr OpClass kClasses[] = {op_class<Lrn>("Lrn")};

}  // namespace

Status Lrn::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule lrn_module;
const OpModule lrn_module = {"lrn", kOps, kClasses};

}  // namespace rill::ops
