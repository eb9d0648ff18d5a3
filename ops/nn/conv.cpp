#include "ops/nn/conv.h"

#include <cmath>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "core/tensor/small.h"
#include "core/tensor/visit_number.h"
#include "kernels/limited.h"
#include "kernels/simd/mul_add.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/pad.h"
#include "ops/built.h"
#include "ops/nn/epilogue.h"
#include "ops/nn/quant_conv.h"
#include "ops/nn/window_product.h"
#include "ops/nn/window_taps.h"

namespace rill::ops {

void Conv::fields(FieldVisitor& visitor) {
  window.fields(visitor);
  ranged_field(visitor, "groups", 1, INT32_MAX, groups);
  visitor.field("has_bias", has_bias);
  visitor.field("has_residual", has_residual);
  visitor.field("slope", slope);
  clip.fields(visitor);
}

namespace {

/// Call a function with a value of the C++ type of `dtype`, if convolutions compute in it. Return
/// whether they do.
template <class Visitor>
bool visit_convolved(DType dtype, Visitor&& visitor) {
  return visit_one_of<float, double, Half, BFloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t,
                      int64_t>(dtype, std::forward<Visitor>(visitor));
}

}  // namespace

Result<Facts> Conv::infer(FactSpan in) const {
  RILL_TRY(expect_count(in, 2 + (has_bias ? 1U : 0U) + (has_residual ? 1U : 0U)));
  const Fact& x = in[0];
  const Fact& w = in[1];
  RILL_CHECK(x.rank() >= 3, "input ", x, ": expected batch, channels and at least one more axis");
  RILL_CHECK(w.rank() == x.rank(), "filter ", w, " for input ", x, ": expected equal ranks");
  RILL_TRY(window.check(x.rank() - 2));
  if (x.dtype != w.dtype) {
    return fail(Code::kDType, "filter ", w, " for input ", x, ": expected equal types");
  }
  if (!visit_convolved(x.dtype, [](auto) {})) {
    return fail(Code::kDType, "input ", x, ": no convolution of ", dtype_name(x.dtype));
  }
  const auto outputs = w.dim(0).to_int();
  const auto channels = w.dim(1).to_int();
  RILL_CHECK(outputs && channels, "filter ", w, ": expected a known shape");
  RILL_CHECK(groups >= 1 && *outputs % groups == 0, counted(groups, "group"), " for ", *outputs,
             " output channels");
  const Dim all = Dim(*channels) * Dim(groups);
  RILL_CHECK(x.dim(1) == all, "input ", x, " has ", x.dim(1), " channels, filter ", w, " in ",
             counted(groups, "group"), " expects ", all);
  for (int i = 0; i < window.axes(); ++i) {
    RILL_CHECK(w.dim(i + 2) == Dim(window.kernel[static_cast<size_t>(i)]), "filter ", w,
               " and window ", window.kernel, " differ");
  }
  if (has_bias) {
    const Fact& bias = in[2];
    RILL_CHECK(bias.rank() == 1 && bias.dim(0) == w.dim(0), "bias ", bias, ": expected ", *outputs,
               " values");
    if (bias.dtype != x.dtype) {
      return fail(Code::kDType, "bias ", bias, " for input ", x, ": expected equal types");
    }
  }
  Fact out = Fact::of(x.dtype, {x.dim(0), w.dim(0)});
  for (int i = 0; i < window.axes(); ++i) out.shape.push_back(window.output(i, x.dim(i + 2)));
  if (has_residual) {
    RILL_CHECK(in.back().dtype == out.dtype && in.back().shape == out.shape, "residual ", in.back(),
               ": expected the type and shape of the output, ", out);
  }
  return one_fact(std::move(out));
}

Dim Conv::work(FactSpan in, FactSpan out) const {
  return volume(out[0].shape) * window.taps() * (in[1].dim(1) + Dim(1));
}

namespace {

template <class T>
T multiply_add(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    return kernels::fused(a, b, c);
  } else {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) *
                              static_cast<std::make_unsigned_t<T>>(b) +
                          static_cast<std::make_unsigned_t<T>>(c));
  }
}

template <class Stored, class T>
void eval_as(const Conv& op, EvalCtx& ctx) {
  const View& x = ctx.in[0];
  const View& w = ctx.in[1];
  const View& y = ctx.out[0];
  if (y.volume() == 0) return;
  const int64_t per_group = w.shape[0] / op.groups;
  std::array<int64_t, kMaxRank> out{};
  do {
    const int64_t o = out[1];
    const int64_t group = o / per_group;
    T sum = op.has_bias ? static_cast<T>(ctx.in[2].as<Stored>()[o * ctx.in[2].stride[0]]) : T{};
    const int64_t base = out[0] * x.stride[0] + group * w.shape[1] * x.stride[1];
    for_each_tap(op.window, x, out, base, [&](const auto& tap, int64_t at_x, int64_t) {
      int64_t at_w = o * w.stride[0];
      for (size_t a = 0; a < op.window.kernel.size(); ++a) at_w += tap[a] * w.stride[a + 2];
      for (int64_t c = 0; c < w.shape[1]; ++c) {
        const T xv = static_cast<T>(x.as<Stored>()[at_x + c * x.stride[1]]);
        const T wv = static_cast<T>(w.as<Stored>()[at_w + c * w.stride[1]]);
        sum = multiply_add(xv, wv, sum);
      }
    });
    int64_t at_y = 0;
    for (int i = 0; i < y.rank; ++i) at_y += out[static_cast<size_t>(i)] * y.step(i);
    if (op.has_residual) {
      const View& r = ctx.in.back();
      int64_t at_r = 0;
      for (int i = 0; i < r.rank; ++i) at_r += out[static_cast<size_t>(i)] * r.step(i);
      sum = static_cast<T>(sum + static_cast<T>(r.as<Stored>()[at_r]));
    }
    if constexpr (std::is_floating_point_v<T>) {
      sum = kernels::leaked<T>(sum, op.slope);
      if (op.clip.on) sum = kernels::limited<T>(sum, op.clip.lo, op.clip.hi);
    }
    y.as<Stored>()[at_y] = static_cast<Stored>(sum);
  } while (next_index(&out, y.shape.data(), y.rank));
}

}  // namespace

Status Conv::eval(EvalCtx& ctx) const {
  const auto eval = [&](auto tag) {
    using Stored = decltype(tag);
    // Accumulate narrow integers in 32 bits.
    using Sum = std::conditional_t<std::is_integral_v<Stored> && sizeof(Stored) < sizeof(int32_t),
                                   int32_t, Computed<Stored>>;
    eval_as<Stored, Sum>(*this, ctx);
  };
  if (visit_convolved(ctx.out[0].dtype, eval)) return {};
  return fail(Code::kDType, "no convolution of ", dtype_name(ctx.out[0].dtype));
}

Status Conv::lower(Lowering& lowering) const {
  const Operand& w = lowering.in(1);
  if (lowering.in(0).dtype != DType::kF32 || !w.konst || (has_bias && !lowering.in(2).konst)) {
    return Op::lower(lowering);
  }
  if (!padding_is_cheap(window, lowering.in(0), lowering.out_shape(0),
                        static_cast<double>(w.extent(1)))) {
    return Op::lower(lowering);
  }
  WindowProduct product;
  product.x = padded_rows(lowering, lowering.in(0), window, 0.0F);
  product.y = lowering.make_out(0, channels_last(product.x.rank));
  if (product.y.volume() == 0) return {};
  product.filter = w.konst;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t step = product.x.step(static_cast<int>(i) + 2);
    product.axes.push_back({window.kernel[i], window.dilation[i] * step, window.stride[i] * step});
  }
  WindowProducts common{groups, nullptr, nullptr, clip, slope};
  if (has_bias) common.bias = &lowering.in(2);
  Operand residual;
  if (has_residual) {
    residual = lowering.innermost(lowering.in(lowering.inputs() - 1), 1);
    common.residual = &residual;
  }
  lowering.packed(1);
  return lower_window_products(lowering, common, {std::move(product)});
}

namespace {

/// Return whether the window is one frame, with stride 1 and no padding: filters mix channels only.
bool mixes_channels(const Window& window) {
  const std::vector<int64_t> ones(window.kernel.size(), 1);
  return window.kernel == ones && window.stride == ones && !window.padded();
}

/// Return whether the extents of two spatial axes share a symbol, as those of queries and keys do.
bool has_frames_twice(const Fact& x) {
  for (int axis = 2; axis < x.rank(); ++axis) {
    std::vector<std::string> symbols;
    x.dim(axis).collect_symbols(&symbols);
    for (int other = axis + 1; other < x.rank(); ++other) {
      const auto grows = [&](const std::string& symbol) { return x.dim(other).mentions(symbol); };
      if (any_of(symbols, grows)) return true;
    }
  }
  return false;
}

}  // namespace

Course Conv::course() const {
  if (!mixes_channels(window)) return {};
  return {.form = Course::Form::kProducts, .bias = has_bias ? 2 : -1};
}

std::vector<AxisTrack> Conv::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  const auto track = [&](int axis) {
    std::vector<int> from(in.size(), -1);
    from[0] = axis;
    if (has_residual) from.back() = axis;
    tracks.push_back({std::move(from), {axis}});
  };
  track(0);
  // Spatial axes are tracked only for pointwise convolutions over attention scores
  // [batch, heads, queries, keys]. Other convolutions stream by windows.
  if (!mixes_channels(window) || !has_frames_twice(in[0])) return tracks;
  for (int axis = 2; axis < in[0].rank(); ++axis) track(axis);
  return tracks;
}

Status Conv::pulsify(PulseBuilder& b) const {
  for (int i = 1; i < b.inputs(); ++i) {
    if (b.stream(i)) return b.refuse("Use constant filters", "its filter or bias streams");
  }
  if (b.scores()) return Op::pulsify(b);
  const int axis = b.stream(0)->axis;
  if (axis == 0) return Op::pulsify(b);
  Conv pulsed = *this;
  StreamFact stream;
  const Tensor zero = small_zeros(b.in(0).dtype, {});
  RILL_ASSIGN(const OutletId x,
              pulse_window(b, window, zero, true, &stream, &pulsed.window));
  std::vector<OutletId> inputs{x};
  for (int i = 1; i < b.inputs(); ++i) inputs.push_back(b.wire(i));
  RILL_ASSIGN(const OutletId out, b.add1(make_op<Conv>(pulsed), inputs));
  stream.dim = b.out(0).dim(axis);
  b.set(0, out, stream);
  return {};
}

Status Conv::declutter(Rewrite& rewrite) const {
  Conv simpler = *this;
  if (resolve_same(&simpler.window, rewrite.in(0))) {
    return rewrite.replace_by(make_op<Conv>(simpler), rewrite.mapped_inputs(rewrite.node()));
  }
  // Zero padding upstream becomes the convolution's own padding.
  const auto* pad = rewrite.producer_as<Pad>(0);
  if (!pad || rewrite.uses(rewrite.input(0)) != 1 || window.same || pad->mode != "constant") {
    return {};
  }
  const auto value = element_as_double(*pad->value, 0);
  constexpr std::pair<int64_t, int64_t> kNone{};
  if (!value.ok() || *value != 0.0 || pad->pads[0] != kNone || pad->pads[1] != kNone) return {};
  for (size_t i = 0; i < simpler.window.padding.size(); ++i) {
    simpler.window.padding[i].first += pad->pads[i + 2].first;
    simpler.window.padding[i].second += pad->pads[i + 2].second;
  }
  if (!simpler.window.check(simpler.window.axes()).ok()) return {};  // too much padding
  std::vector<OutletId> inputs = rewrite.mapped_inputs(rewrite.node());
  inputs[0] = rewrite.mapped(rewrite.producer(0).inputs[0]);
  return rewrite.replace_by(make_op<Conv>(simpler), inputs);
}

Status Conv::fuse(Rewrite& rewrite) const {
  return fuse_as_f32(*this, rewrite);
}

Status Conv::absorb(const Node& producer, Rewrite& consumer, int input) const {
  if constexpr (built("integer_sums")) {
    if (consumer.fusing()) {
      RILL_TRY(take_as_bytes(*this, producer, consumer));
      if (consumer.replacement()) return {};
    }
  }
  if (producer.outputs[0].dtype != DType::kF32) return {};
  if (!consumer.fusing()) {
    // Scaled filters round differently.
    const bool exact = consumer.old_graph().keeps_rounding();
    if (has_residual || slope != 1 || clip.on || exact) return {};
    Conv folded = *this;
    folded.has_bias = true;
    return absorb_affine(make_op<Conv>(folded), producer, consumer, input);
  }
  if (const auto limits = clip_with(clip, consumer, input)) {
    Conv fused = *this;
    fused.clip = *limits;
    return consumer.replace_by(make_op<Conv>(fused), consumer.mapped_inputs(producer));
  }
  if (const auto leak = slope_of(consumer); leak && traits().takes_slope) {
    Conv fused = *this;
    fused.slope = *leak;
    return consumer.replace_by(make_op<Conv>(fused), consumer.mapped_inputs(producer));
  }
  if (has_residual || slope != 1 || clip.on) return {};
  const Fact& weights = consumer.old_graph().fact(producer.inputs[1]);
  // The depthwise kernel adds no residual.
  if (is_depthwise(groups, weights.dim(0).to_int().value_or(0),
                   weights.dim(1).to_int().value_or(0))) {
    return {};
  }
  if (const auto other = sum_with(consumer, input, producer.outputs[0])) {
    Conv fused = *this;
    fused.has_residual = true;
    std::vector<OutletId> inputs = consumer.mapped_inputs(producer);
    inputs.push_back(*other);
    return consumer.replace_by(make_op<Conv>(fused), inputs);
  }
  return {};
}

OpTraits Conv::traits() const {
  const bool plain = !clip.on && slope == 1;
  // Depthwise convolutions have a separate kernel, which supports no slope.
  return {.takes_limits = !clip.on,
          .takes_slope = plain && groups == 1,
          .takes_sum = plain && !has_residual,
          .by_channels = true};
}

Cost Conv::cost(FactSpan in, FactSpan out) const {
  Cost cost;
  cost.fma = volume(out[0].shape) * in[1].dim(1);
  for (const int64_t k : window.kernel) cost.fma *= Dim(k);
  cost.bytes = (volume(in[0].shape) + volume(in[1].shape) + volume(out[0].shape)) *
               Dim(dtype_size(in[0].dtype));
  return cost;
}

Status Conv::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  RILL_ASSIGN(const std::string w, ctx.in(1));
  std::string bias = "0.0";
  if (has_bias) {
    RILL_ASSIGN(bias, ctx.in(2));
  }
  const std::string text = window_text(window, 0, str_cat(", groups = ", groups));
  const std::string expression = str_cat("conv(", x, ", ", w, ", ", bias, text, ")");
  // As in tract's files: a convolution that is a graph output is assigned to a name with the suffix
  // _conv, and the output is assigned from this name.
  const std::vector<OutletId>& outputs = ctx.graph().outputs;
  const bool is_output = any_of(outputs, [&](const OutletId& output) {
    return &ctx.graph().node(output.node) == &ctx.node();
  });
  const bool named = !is_output || ctx.node().name.ends_with("_conv");
  ctx.assign(named ? expression : ctx.temp("conv", expression));
  return {};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const OutletId w, ctx.wire("filter"));
  RILL_ASSIGN(const auto filter_shape, ctx.fact(w).concrete_shape());
  RILL_CHECK(filter_shape.size() >= 3, "filter ", ctx.fact(w),
             ": expected [outputs, channels, spatial...]");
  RILL_CHECK(ctx.fact(x).rank() == ctx.fact(w).rank(), "input ", ctx.fact(x), ", filter ",
             ctx.fact(w), ": expected equal ranks");
  RILL_TRY(expect_constant_padding(ctx));
  Conv op;
  RILL_ASSIGN(op.window, load_window(ctx, {filter_shape.begin() + 2, filter_shape.end()}, 0));
  RILL_ASSIGN(op.groups, ctx.integer("groups"));
  if (op.groups == 0) {
    RILL_ASSIGN(op.groups, ctx.fact(x).dim(1).as_int());
  }
  if (is_quantised(ctx.fact(x).dtype) || is_quantised(ctx.fact(w).dtype)) {
    if constexpr (built("integer_sums")) {
      return as_value(load_quant_conv(ctx, std::move(op.window), op.groups, x, w));
    } else {
      return left_out("convolutions of quantised numbers", "integer_sums");
    }
  }
  if constexpr (built("integer_sums")) {
    RILL_ASSIGN(const auto sums, load_byte_conv(ctx, op.window, op.groups, x, w));
    if (sums) return Value(*sums);
  }
  std::vector<OutletId> inputs{x, w};
  RILL_ASSIGN(const auto bias, load_bias(ctx, ctx.fact(x).dtype, filter_shape[0]));
  op.has_bias = bias.has_value();
  if (bias) inputs.push_back(*bias);
  return ctx.add_value(make_op<Conv>(op), inputs);
}

const NnefOp kOps[] = {
    {"tract_nnef",
     "fragment conv(input: tensor<scalar>, filter: tensor<scalar>, bias: tensor<scalar> = 0.0, "
     "border: string = 'constant', padding: (integer, integer)[] = [], stride: integer[] = [], "
     "dilation: integer[] = [], groups: integer = 1) -> (output: tensor<scalar>);",
     load}};

constexpr OpClass kClasses[] = {op_class<Conv>("Conv")};

}  // namespace

extern const OpModule conv_module;
const OpModule conv_module = {"conv", kOps, kClasses};

}  // namespace rill::ops
