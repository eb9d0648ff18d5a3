#include <algorithm>
#include <cmath>

#include "core/base/kept_count.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"

namespace rill::ops {
namespace {

/// The bytes of the count of frames seen, which precedes the averages.
constexpr int64_t kHeaderBytes = 8;

/// Normalise each frame by a running average s <- m * (1 - alpha) + s * alpha.
/// Unit norm: m = max(|x|, epsilon), y = x / sqrt(s); for pairs (re, im), one average of the
/// modulus.
/// Mean norm: m = x, y = (x - s) / scaling.
/// The first `skip` frames leave the average unchanged, and are normalised by it.
/// Shapes: x [D0..T..Dn], first average [D0..Dn] without the axes of time and of pairs -> x's.
/// Types: f32. Errors: kShape, kDType.
/// Stream: along `axis`, the average continues from pulse to pulse; other axes are refused.
/// Source: tract, `tract_extra_exp_unit_norm` and `tract_extra_exp_mean_norm`.
class ExpNorm final : public OpBase<ExpNorm> {
 public:
  int64_t axis = 0;
  float alpha = 0.0F;
  float epsilon = 1e-14F;
  float scaling = 1.0F;
  int64_t skip = 0;
  bool mean = false;
  bool pairs = false;
  bool restarts = false;  ///< every run begins with the first average, the second input

  std::string_view name() const override { return "ExpUnitNorm"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axis", axis);
    visitor.field("alpha", alpha);
    visitor.field("epsilon", epsilon);
    visitor.field("scaling", scaling);
    frames_field(visitor, "skip", skip);
    visitor.field("mean", mean);
    visitor.field("pairs", pairs);
    visitor.field("stateless", restarts);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  bool foldable() const override { return restarts; }
  OpPtr stateless() const override {
    if (restarts) return nullptr;
    auto op = draft_op<ExpNorm>(*this);
    op->restarts = true;
    return op;
  }
  int64_t state_bytes(FactSpan in) const override {
    if (restarts) return 0;
    return kHeaderBytes + 4 * volume(in[1].shape).to_int().value_or(0);
  }
  Status pulsify(PulseBuilder& builder) const override;
  Cost cost(FactSpan in, FactSpan) const override {
    return {Dim(3) * volume(in[0].shape), Dim(8) * volume(in[0].shape)};
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override;
};

Result<Facts> ExpNorm::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 2));
  const Fact& x = in[0];
  RILL_CHECK(axis >= 0 && axis < x.rank() - (pairs ? 1 : 0), "no axis ", axis, " in ", x);
  RILL_CHECK(!pairs || x.shape.back() == Dim(2), "input ", x,
             ": expected pairs (re, im) on the last axis");
  if (x.dtype != DType::kF32 || in[1].dtype != DType::kF32) {
    return fail(Code::kDType, "input ", x, ", state ", in[1], ": expected f32");
  }
  RILL_CHECK(skip >= 0, "skip ", skip, ": expected 0 or more");
  std::vector<Dim> lanes = x.shape;
  lanes.erase(lanes.begin() + axis);
  if (pairs) lanes.pop_back();
  RILL_CHECK(in[1].shape == lanes, "state ", in[1], " for input ", x, ": expected ", lanes);
  return one_fact(x.without_value());
}

Status ExpNorm::eval(EvalCtx& ctx) const {
  const int on = static_cast<int>(axis);
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  View from = without_axis(x, on);
  View to = without_axis(y, on);
  const int64_t length = x.extent(on);
  const int64_t x_re_im = pairs ? from.step(from.rank - 1) : 0;
  const int64_t y_re_im = pairs ? to.step(to.rank - 1) : 0;
  if (pairs) {
    --from.rank;
    --to.rank;
  }
  auto* seen = static_cast<int64_t*>(ctx.state);
  const int64_t first = seen ? kept_count(*seen) : 0;
  float* kept = seen ? reinterpret_cast<float*>(seen + 1) : nullptr;
  int64_t lane = 0;
  for_each_element<3>({from, to, ctx.in[1]}, [&](const std::array<int64_t, 3>& at) {
    float s = first == 0 ? ctx.in[1].as<const float>()[at[2]] : kept[lane];
    for (int64_t t = 0; t < length; ++t) {
      const float* in = x.as<const float>() + at[0] + t * x.step(on);
      float* out = y.as<float>() + at[1] + t * y.step(on);
      const float im = pairs ? in[x_re_im] : 0.0F;
      const float re = *in;
      if (first + t >= skip) {
        const float size = pairs ? std::sqrt(re * re + im * im) : std::abs(re);
        const float m = mean ? re : std::fmax(size, epsilon);
        s = m * (1.0F - alpha) + s * alpha;
      }
      *out = mean ? (re - s) / scaling : re / std::sqrt(s);
      if (pairs) out[y_re_im] = im / std::sqrt(s);
    }
    if (kept) kept[lane] = s;
    ++lane;
  });
  if (seen) *seen = first + length;
  return {};
}

Status ExpNorm::pulsify(PulseBuilder& b) const {
  const auto found = b.stream(0);
  if (!found || found->axis != axis || b.stream(1)) {
    return b.refuse("Stream along the axis that is averaged over", "its average runs along axis ",
                    axis, ", which is not the streaming axis");
  }
  if (restarts) {
    return b.refuse("Set stateless to false",
                    "it restarts its average in every run, so pulses differ from the whole");
  }
  StreamFact stream = *found;
  RILL_ASSIGN(const OutletId x, b.materialise(b.wire(0), &stream));
  auto op = draft_op<ExpNorm>(*this);
  op->skip = skip + std::max<int64_t>(stream.delay, 0);
  RILL_ASSIGN(const OutletId out, b.add1(std::move(op), {x, b.wire(1)}));
  b.set(0, out, stream);
  return {};
}

Status ExpNorm::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  RILL_ASSIGN(const std::string state, ctx.in(1));
  ctx.need_registry("tract_extra");
  const std::string common =
      str_cat("(", x, ", ", state, ", axis = ", axis, ", alpha = ", nnef_text(alpha),
              ", stateless = ", restarts, ", skip = ", skip);
  if (mean) {
    ctx.assign(str_cat("tract_extra_exp_mean_norm", common,
                       ", scaling_factor = ", nnef_text(scaling), ")"));
  } else {
    ctx.assign(str_cat("tract_extra_exp_unit_norm", common, ", epsilon = ", nnef_text(epsilon),
                       ", complex = ", pairs, ")"));
  }
  return {};
}

template <bool kMean>
Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const OutletId state, plain_wire(ctx, "state"));
  auto op = draft_op<ExpNorm>();
  op->mean = kMean;
  RILL_TRY(ctx.fields(*op));
  RILL_ASSIGN(op->axis, axis_in(op->axis, ctx.fact(x).rank()));
  if (kMean) {
    RILL_ASSIGN(op->scaling, ctx.number("scaling_factor"));
  } else {
    RILL_ASSIGN(op->pairs, ctx.boolean("complex"));
  }
  return ctx.add_value(std::move(op), {x, state});
}

constexpr NnefOp kOps[] = {
    {"tract_extra",
     "fragment tract_extra_exp_unit_norm(input: tensor<scalar>, state: tensor<scalar>,"
     " axis: integer, alpha: scalar, skip: integer = 0, stateless: logical = false,"
     " complex: logical = false, epsilon: scalar = 1e-14) -> (output: tensor<scalar>);",
     load<false>},
    {"tract_extra",
     "fragment tract_extra_exp_mean_norm(input: tensor<scalar>, state: tensor<scalar>,"
     " axis: integer, alpha: scalar, skip: integer = 0, stateless: logical = false,"
     " scaling_factor: scalar = 1.0) -> (output: tensor<scalar>);",
     load<true>},
};

constexpr OpClass kClasses[] = {op_class<ExpNorm>("ExpNorm")};

}  // namespace

extern const OpModule exp_norm_module;
const OpModule exp_norm_module = {"exp_norm", kOps, kClasses};

}  // namespace rill::ops
