#include <algorithm>
#include <cmath>

#include "core/exec/share.h"
#include "core/graph/rewrite.h"
#include "kernels/matmul/matmul.h"
#include "ops/math/elements.h"
#include "ops/nn/epilogue.h"
#include "ops/nn/pool_lower.h"
#include "ops/stream/mask.h"

namespace rill::ops {
namespace {

/// Convolve transposed: every input frame adds a filter to the output, `stride` apart.
/// Shapes: input [N, C, D...], filter [O, C / groups, K...], bias [O] -> [N, O, D'...], with
/// D' = (D - 1) * stride + (K - 1) * dilation + 1 - before - after + extra.
/// Types: f16, f32, f64. Errors: kShape, kDType.
/// Stream: on a spatial axis, history of the input and a mask of zeros outside the stream; delay
/// D' = D * stride + before. On the batch axis each frame alone; refused on channels.
/// Accuracy: f32 is one chain of fused multiply-adds per output, over ascending input frames and
/// channels, starting from the bias.
/// Source: NNEF 1.0, `deconv`.
struct Deconv final : OpBase<Deconv> {
  Window window;               ///< padding is what is cut off
  std::vector<int64_t> extra;  ///< frames more at the end, per spatial axis; may be negative
  int64_t groups = 1;
  bool has_bias = true;

  std::string_view name() const override { return "Deconv"; }
  void fields(FieldVisitor& visitor) override {
    window.fields(visitor);
    visitor.field("extra", extra);
    visitor.field("groups", groups);
    visitor.field("has_bias", has_bias);
  }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<int> track(in.size(), -1);
    track[0] = 0;
    return {{track, {0}}};
  }
  Status pulsify(PulseBuilder& builder) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Cost cost(FactSpan in, FactSpan out) const override {
    Cost cost;
    cost.fma = volume(in[0].shape) * in[1].dim(0);
    for (const int64_t k : window.kernel) cost.fma *= Dim(k);
    if (groups > 1) cost.fma = floor_div(cost.fma, groups);
    cost.bytes = (volume(in[0].shape) + volume(in[1].shape) + volume(out[0].shape)) * Dim(4);
    return cost;
  }
  Status save(SaveCtx& ctx) const override;

  /// What is cut off in front; `same` keeps in * stride frames.
  std::pair<int64_t, int64_t> cut(int axis) const {
    const auto a = static_cast<size_t>(axis);
    if (!window.same) return window.padding[a];
    const int64_t total = window.extent(axis) - window.stride[a];
    return {total > 0 ? total / 2 : 0, total - (total > 0 ? total / 2 : 0)};
  }
};

Result<Facts> Deconv::infer(FactSpan in) const {
  const Fact& x = in[0];
  const Fact& w = in[1];
  RILL_CHECK(x.rank() >= 3 && w.rank() == x.rank(), "input ", x, ", filter ", w,
             ": expected one rank of at least 3");
  RILL_TRY(window.check(x.rank() - 2));
  if (x.dtype != w.dtype || !is_float(x.dtype)) {
    return fail(Code::kDType, "input ", x, ", filter ", w, ": expected one float type");
  }
  const auto outputs = w.dim(0).to_int();
  const auto channels = w.dim(1).to_int();
  RILL_CHECK(outputs && channels, "filter ", w, ": expected a known shape");
  RILL_CHECK(groups >= 1 && *outputs % groups == 0, groups, " groups for ", *outputs,
             " output channels");
  RILL_CHECK(x.dim(1) == Dim(*channels * groups), "input ", x, ", filter ", w, ", ", groups,
             " groups: the channels do not fit");
  RILL_CHECK(extra.size() == window.kernel.size(), extra.size(), " output adjustments");
  if (has_bias) {
    RILL_CHECK(in[2].rank() == 1 && in[2].dim(0) == w.dim(0), "bias ", in[2], ": expected ",
               *outputs, " values");
  }
  Fact out = Fact::of(x.dtype, {x.dim(0), w.dim(0)});
  for (int i = 0; i < window.axes(); ++i) {
    const auto a = static_cast<size_t>(i);
    RILL_CHECK(w.dim(i + 2) == Dim(window.kernel[a]), "filter ", w, " and window ", window.kernel,
               " differ");
    const auto [before, after] = cut(i);
    out.shape.push_back((x.dim(i + 2) - Dim(1)) * Dim(window.stride[a]) +
                        Dim(window.extent(i) - before - after + extra[a]));
  }
  return Facts{std::move(out)};
}

template <class Stored, class T>
void eval_as(const Deconv& op, EvalCtx& ctx) {
  const View& x = ctx.in[0];
  const View& w = ctx.in[1];
  const View& y = ctx.out[0];
  const int64_t per_group = w.shape[0] / op.groups;
  const int spatial = op.window.axes();
  const Window& taps = op.window;
  std::array<int64_t, kMaxRank> index{};
  for (int64_t n = y.volume(); n > 0; --n) {
    const int64_t o = index[1];
    T sum = op.has_bias ? static_cast<T>(ctx.in[2].as<Stored>()[o * ctx.in[2].stride[0]]) : T{};
    // Taps from the last to the first visit input frames in ascending order.
    std::array<int64_t, kMaxRank> t{};
    for (int i = 0; i < spatial; ++i)
      t[static_cast<size_t>(i)] = taps.kernel[static_cast<size_t>(i)] - 1;
    for (bool more = true; more;) {
      int64_t at_x = index[0] * x.stride[0] + o / per_group * w.shape[1] * x.stride[1];
      int64_t at_w = o * w.stride[0];
      bool inside = true;
      for (int i = 0; i < spatial; ++i) {
        const auto a = static_cast<size_t>(i);
        const int64_t raw = index[a + 2] + op.cut(i).first - t[a] * taps.dilation[a];
        inside &= raw >= 0 && raw % taps.stride[a] == 0 && raw / taps.stride[a] < x.shape[a + 2];
        if (inside) at_x += raw / taps.stride[a] * x.stride[a + 2];
        at_w += t[a] * w.stride[a + 2];
      }
      for (int64_t c = 0; inside && c < w.shape[1]; ++c) {
        const T xv = static_cast<T>(x.as<Stored>()[at_x + c * x.stride[1]]);
        const T wv = static_cast<T>(w.as<Stored>()[at_w + c * w.stride[1]]);
        sum = std::fma(xv, wv, sum);
      }
      int i = spatial - 1;
      while (i >= 0 && --t[static_cast<size_t>(i)] < 0) {
        t[static_cast<size_t>(i)] = taps.kernel[static_cast<size_t>(i)] - 1;
        --i;
      }
      more = i >= 0;
    }
    y.as<Stored>()[offset_of(y, index)] = static_cast<Stored>(sum);
    next_index(&index, y.shape.data(), y.rank);
  }
}

Status Deconv::eval(EvalCtx& ctx) const {
  switch (ctx.out[0].dtype) {
    case DType::kF32:
      eval_as<float, float>(*this, ctx);
      return {};
    case DType::kF64:
      eval_as<double, double>(*this, ctx);
      return {};
    case DType::kF16:
      eval_as<Half, float>(*this, ctx);
      return {};
    default:
      return fail(Code::kDType, "no transposed convolution of this type");
  }
}

/// One phase of the output: frames phase, phase + stride, ... are a convolution of the input.
struct Phase {
  kernels::MatmulF32Args args;
  int64_t x = 0;
  int64_t y = 0;
  Ref weights;
};

struct PhaseArgs {
  const kernels::MatmulF32* kernel = nullptr;
  std::vector<Phase> phases;
  Ref x;
  Ref y;
  Ref bias;
  bool has_bias = false;
  int64_t lanes = 1;
  int64_t lane_x = 0;
  int64_t lane_y = 0;
};

/// The units are the phases of every lane.
void run_phases(const PhaseArgs& all, const Frame& frame,
                const Share& share) noexcept RILL_NONBLOCKING {
  const auto lanes = [&](int) { return all.lanes; };
  const auto run = [&](const auto& lane, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      const Phase& phase = all.phases[static_cast<size_t>(i)];
      kernels::MatmulF32Args args = phase.args;
      args.a = frame.ptr<const float>(all.x) + lane[0] * all.lane_x + phase.x;
      args.c = frame.ptr<float>(all.y) + lane[0] * all.lane_y + phase.y;
      args.b = frame.ptr<const float>(phase.weights);
      args.bias = all.has_bias ? frame.ptr<const float>(all.bias) : nullptr;
      all.kernel->run(args);
    }
  };
  walk_share<1>(share, 1, lanes, static_cast<int64_t>(all.phases.size()), run);
}

Status Deconv::lower(Lowering& lowering) const {
  const Operand& w = lowering.in(1);
  const bool fast = lowering.in(0).dtype == DType::kF32 && w.konst && window.axes() == 1 &&
                    groups == 1 && window.dilation[0] == 1 && (!has_bias || lowering.in(2).konst);
  if (!fast) return Op::lower(lowering);
  const int64_t s = window.stride[0];
  const int64_t k = window.kernel[0];
  const int64_t outputs = w.extent(0);
  const int64_t channels = w.extent(1);
  const int64_t reach = (k + s - 1) / s;  // input frames that one output may see
  const int64_t before = cut(0).first;
  const int64_t frames_out = lowering.out_shape(0).extent(2);
  // The input frames that outputs [before, before + frames_out) see, zeros where there are none.
  const int64_t first = before / s - (reach - 1);
  const int64_t last = frames_out == 0 ? first : (before + frames_out - 1) / s;
  Operand x = lowering.innermost(lowering.in(0), 1);
  const int64_t missing_before = std::max<int64_t>(0, -first);
  const int64_t missing_after = std::max<int64_t>(0, last - (x.extent(2) - 1));
  int64_t origin = 0;  // where input frame 0 lies
  if (missing_before + missing_after > 0) {
    Window border;
    border.kernel = {1};
    border.stride = {1};
    border.dilation = {1};
    border.padding = {{missing_before, missing_after}};
    x = padded_rows(lowering, lowering.in(0), border, 0.0F);
    origin = missing_before;
  }
  const Operand y = lowering.make_out(0, channels_last(3));
  if (y.volume() == 0) return {};
  PhaseArgs all;
  all.kernel = &kernels::matmul_f32(kernels::active_tier());
  all.x = x.ref;
  all.y = y.ref;
  all.has_bias = has_bias;
  if (has_bias) all.bias = lowering.in(2).ref;
  all.lanes = y.extent(0);
  all.lane_x = x.step(0);
  all.lane_y = y.step(0);
  std::vector<float> ordered;
  const float* filter = w.konst->data<float>();
  for (int64_t phase = 0; phase < std::min(s, frames_out); ++phase) {
    const int64_t raw = before + phase;
    const int64_t tap = raw % s;
    const int64_t taps = tap < k ? (k - tap + s - 1) / s : 0;
    Phase one;
    one.args.m = (frames_out - phase + s - 1) / s;
    one.args.n = outputs;
    one.args.ldc = s * y.step(2);
    one.args.lda = x.step(2);
    one.args.segments = taps;
    one.args.segment_len = channels;
    one.args.segment_stride = x.step(2);
    one.y = phase * y.step(2);
    one.x = (raw / s - std::max<int64_t>(taps - 1, 0) + origin) * x.step(2);
    // Rows of B: input frames in ascending order are taps in descending order.
    ordered.assign(static_cast<size_t>(taps * channels * outputs), 0.0F);
    for (int64_t j = 0; j < taps; ++j) {
      const int64_t t = tap + (taps - 1 - j) * s;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t o = 0; o < outputs; ++o) {
          ordered[static_cast<size_t>((j * channels + c) * outputs + o)] =
              filter[(o * channels + c) * k + t];
        }
      }
    }
    auto [ref, packed] = lowering.constant<float>(
        kernels::matmul_f32_packed_floats(*all.kernel, taps * channels, outputs) + 16);
    kernels::matmul_f32_pack(*all.kernel, taps * channels, outputs, ordered.data(), outputs, 1,
                             packed);
    one.weights = ref;
    all.phases.push_back(one);
  }
  lowering.packed(1);
  const Ref read = all.x;
  const Ref written = all.y;
  Lowering::Work work;
  work.units = all.lanes * static_cast<int64_t>(all.phases.size());
  for (const Phase& phase : all.phases) {
    work.multiply_adds += static_cast<double>(all.lanes * phase.args.m * outputs) *
                          static_cast<double>(phase.args.segments * channels);
  }
  lowering.step_in_parts(run_phases, std::move(all), work, {read}, {written});
  return {};
}

Status Deconv::pulsify(PulseBuilder& b) const {
  for (int i = 1; i < b.inputs(); ++i) {
    if (b.stream(i)) return b.refuse("Use constant filters", "its filter or bias streams");
  }
  StreamFact stream = *b.stream(0);
  if (stream.axis == 0) return Op::pulsify(b);
  if (stream.axis == 1) {
    return b.refuse("Stream along time, not along channels",
                    "the streaming axis 1 is the channel axis, over which it sums");
  }
  const auto a = static_cast<size_t>(stream.axis) - 2;
  const int axis = stream.axis - 2;
  OutletId x = b.wire(0);
  RILL_ASSIGN(x, b.materialise(x, &stream));
  RILL_ASSIGN(const Tensor zero, Tensor::zeros(b.in(0).dtype, {}));
  const int64_t s = window.stride[a];
  const int64_t reach = window.extent(axis);
  if (reach > s) {
    RILL_ASSIGN(x, b.hold(x, &stream));
  }
  RILL_ASSIGN(auto mask, mask_around(b.fact(x), stream, true, reach > s, zero));
  if (mask) {
    RILL_ASSIGN(x, b.add1("mask", std::move(mask), {x}));
  }
  const int64_t history = (reach - 1) / s;
  RILL_ASSIGN(x, b.delay(x, stream, 0, history));
  Deconv pulsed = *this;
  if (pulsed.window.same) {
    pulsed.window.padding.clear();
    for (int i = 0; i < window.axes(); ++i) pulsed.window.padding.push_back(cut(i));
    pulsed.window.same = false;
  }
  const int64_t before = pulsed.window.padding[a].first;
  // Of what the frames of one pulse and their history give, the pulse's own part.
  pulsed.window.padding[a] = {history * s, std::max<int64_t>(0, reach - s)};
  pulsed.extra[a] = std::max<int64_t>(0, s - reach);
  std::vector<OutletId> inputs{x};
  for (int i = 1; i < b.inputs(); ++i) inputs.push_back(b.wire(i));
  RILL_ASSIGN(const OutletId out, b.add1("", std::make_shared<Deconv>(pulsed), std::move(inputs)));
  stream.delay = stream.delay * s + before;
  stream.dim = b.out(0).dim(stream.axis);
  b.set(0, out, stream);
  return {};
}

Status Deconv::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  RILL_ASSIGN(const std::string w, ctx.in(1));
  std::string bias = "0.0";
  if (has_bias) {
    RILL_ASSIGN(bias, ctx.in(2));
  }
  std::string shape;
  if (std::any_of(extra.begin(), extra.end(), [](int64_t e) { return e != 0; })) {
    const Fact& out = ctx.node().outputs[0];
    shape = str_cat(", output_shape = ",
                    nnef_text(std::span<const Dim>(out.shape.data() + 2, out.shape.size() - 2)));
  }
  ctx.assign(str_cat("deconv(", x, ", ", w, ", ", bias, window_text(window, 0), shape,
                     ", groups = ", groups, ")"));
  return {};
}

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const OutletId w, ctx.wire("filter"));
  RILL_ASSIGN(const auto filter_shape, ctx.fact(w).concrete_shape());
  RILL_CHECK(filter_shape.size() >= 3 && ctx.fact(x).rank() == ctx.fact(w).rank(), "input ",
             ctx.fact(x), ", filter ", ctx.fact(w), ": expected one rank of at least 3");
  Deconv op;
  RILL_ASSIGN(op.window, load_window(ctx, {filter_shape.begin() + 2, filter_shape.end()}, 0));
  RILL_ASSIGN(op.groups, ctx.integer("groups"));
  if (op.groups == 0) {
    RILL_ASSIGN(op.groups, ctx.fact(x).dim(1).as_int());
  }
  op.extra.assign(op.window.kernel.size(), 0);
  RILL_ASSIGN(const std::vector<Dim> shape, ctx.dims("output_shape"));
  if (!shape.empty()) {
    RILL_CHECK(shape.size() == op.extra.size(), "output_shape of ", shape.size(), " entries");
    for (int i = 0; i < op.window.axes(); ++i) {
      const auto a = static_cast<size_t>(i);
      const auto [before, after] = op.cut(i);
      const Dim plain = (ctx.fact(x).dim(i + 2) - Dim(1)) * Dim(op.window.stride[a]) +
                        Dim(op.window.extent(i) - before - after);
      RILL_ASSIGN(op.extra[a], (shape[a] - plain).as_int());
    }
  }
  std::vector<OutletId> inputs{x, w};
  RILL_ASSIGN(const auto bias, load_bias(ctx, ctx.fact(x).dtype, filter_shape[0]));
  op.has_bias = bias.has_value();
  if (bias) inputs.push_back(*bias);
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<Deconv>(op), std::move(inputs)));
  return Value(out);
}

/// Read `debox`: every input element is added to a whole window, channel by channel. `normalize` has
/// no effect in tract, and none here.
Result<Value> load_debox(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const std::vector<int64_t> size, ctx.integers("size"));
  const Fact in = ctx.fact(x);
  RILL_CHECK(size.size() >= 3 && static_cast<int>(size.size()) == in.rank() && size[0] == 1 &&
                 size[1] == 1,
             "size ", size, " for input ", in,
             ": expected one entry per axis, 1 on batch and channel");
  if (!is_float(in.dtype)) return fail(Code::kDType, "input ", in, ": expected floats");
  Deconv op;
  op.has_bias = false;
  RILL_ASSIGN(op.window, load_window(ctx, {size.begin() + 2, size.end()}, 2));
  RILL_ASSIGN(op.groups, in.dim(1).as_int());
  op.extra.assign(op.window.kernel.size(), 0);
  RILL_ASSIGN(const std::vector<Dim> shape, ctx.dims("output_shape"));
  RILL_CHECK(shape.empty() || shape.size() == size.size(), "output_shape of ", shape.size(),
             " entries");
  for (int i = 0; i < op.window.axes() && !shape.empty(); ++i) {
    const auto a = static_cast<size_t>(i);
    const auto [before, after] = op.cut(i);
    const Dim plain = (in.dim(i + 2) - Dim(1)) * Dim(op.window.stride[a]) +
                      Dim(op.window.extent(i) - before - after);
    RILL_ASSIGN(op.extra[a], (shape[a + 2] - plain).as_int());
  }
  std::vector<int64_t> filter_shape{op.groups, 1};
  filter_shape.insert(filter_shape.end(), size.begin() + 2, size.end());
  RILL_ASSIGN(Tensor ones, Tensor::zeros(DType::kF32, filter_shape));
  std::fill_n(ones.mutable_data<float>(), ones.volume(), 1.0F);
  RILL_ASSIGN(ones, cast(ones, in.dtype));
  RILL_ASSIGN(const OutletId filter, ctx.konst(std::move(ones), "filter"));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<Deconv>(op), {x, filter}));
  return Value(out);
}

const NnefOp kOps[] = {
    {"tract_nnef",
     "fragment debox(input: tensor<scalar>, size: integer[], border: string = 'constant', "
     "padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = [], "
     "output_shape: integer[] = [], normalize: logical = false) -> (output: tensor<scalar>);",
     load_debox},
    {"tract_nnef",
     "fragment deconv(input: tensor<scalar>, filter: tensor<scalar>, bias: tensor<scalar> = 0.0, "
     "border: string = 'constant', padding: (integer, integer)[] = [], stride: integer[] = [], "
     "dilation: integer[] = [], output_shape: integer[] = [], groups: integer = 1) "
     "-> (output: tensor<scalar>);",
     load}};

}  // namespace

extern const OpRoom deconv_room;
const OpRoom deconv_room = {"deconv", kOps};

}  // namespace rill::ops
