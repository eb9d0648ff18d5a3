#include "ops/nn/deconv.h"

#include <algorithm>
#include <cmath>

#include "core/base/checked.h"
#include "core/base/search.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "core/tensor/visit_number.h"
#include "kernels/limited.h"
#include "kernels/simd/mul_add.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/slice.h"
#include "ops/nn/epilogue.h"
#include "ops/nn/pool_lower.h"
#include "ops/nn/window_taps.h"

namespace rill::ops {

void Deconv::fields(FieldVisitor& visitor) {
  window.fields(visitor);
  ranged_field(visitor, "extra", -INT32_MAX, INT32_MAX, extra);
  ranged_field(visitor, "groups", 1, INT32_MAX, groups);
  visitor.field("has_bias", has_bias);
  clip.fields(visitor);
}

std::vector<AxisTrack> Deconv::axes(FactSpan in, FactSpan) const {
  std::vector<int> track(in.size(), -1);
  track[0] = 0;
  return {{track, {0}}};
}

Cost Deconv::cost(FactSpan in, FactSpan out) const {
  Cost cost;
  cost.fma = volume(in[0].shape) * in[1].dim(0);
  for (const int64_t k : window.kernel) cost.fma *= Dim(k);
  if (groups > 1) cost.fma = floor_div(cost.fma, groups);
  cost.bytes = (volume(in[0].shape) + volume(in[1].shape) + volume(out[0].shape)) * Dim(4);
  return cost;
}

std::pair<int64_t, int64_t> Deconv::cut(int axis) const {
  const auto a = static_cast<size_t>(axis);
  if (!window.same) return window.padding[a];
  const int64_t total = window.extent(axis) - window.stride[a];
  const int64_t before = std::max<int64_t>(total, 0) / 2;
  return {before, total - before};
}

Dim Deconv::work(FactSpan in, FactSpan out) const {
  return volume(out[0].shape) * window.taps() * (in[1].dim(1) + Dim(1));
}

Result<Facts> Deconv::infer(FactSpan in) const {
  RILL_TRY(expect_count(in, has_bias ? 3 : 2));
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
  RILL_CHECK(groups >= 1 && *outputs % groups == 0, counted(groups, "group"), " for ", *outputs,
             " output channels");
  RILL_CHECK(x.dim(1) == Dim(*channels) * Dim(groups), "input ", x, ", filter ", w, ", ",
             counted(groups, "group"), ": the channels do not fit");
  RILL_CHECK(extra.size() == window.kernel.size(), extra.size(), " output adjustments");
  constexpr int64_t kMostExtra = INT32_MAX;
  RILL_CHECK(!any_of(extra, [](int64_t e) { return e > kMostExtra || e < -kMostExtra; }),
             "the output has ", extra, " entries more than its input and window give: expected at "
             "most ", kMostExtra);
  if (has_bias) {
    RILL_CHECK(in[2].rank() == 1 && in[2].dim(0) == w.dim(0), "bias ", in[2], ": expected ",
               *outputs, " values");
    if (in[2].dtype != x.dtype) return fail(Code::kDType, "bias ", in[2], " for input ", x);
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
  return one_fact(std::move(out));
}

namespace {

/// The input frames that one output element reads along one axis, ascending, with their taps.
struct FrameRange {
  int64_t count = 0;
  int64_t frame = 0;  ///< the first one
  int64_t tap = 0;
  int64_t frame_step = 1;
  int64_t tap_step = 1;  ///< from a frame to the next, the tap decreases by this
};

FrameRange frames_of(const Deconv& op, int axis, int64_t output, int64_t extent) {
  const auto a = static_cast<size_t>(axis);
  const int64_t raw = output + op.cut(axis).first;
  const TapSteps steps(op.window.dilation[a], op.window.stride[a]);
  const auto first = steps.first(raw);
  if (!first || raw < 0) return {};
  // The frame of a tap is (raw - tap * dilation) / stride, from 0 to extent - 1.
  const int64_t last = std::min(op.window.kernel[a] - 1, raw / op.window.dilation[a]);
  const int64_t beyond = raw - (extent - 1) * op.window.stride[a];
  const int64_t least = beyond <= 0 ? 0 : (beyond - 1) / op.window.dilation[a] + 1;
  if (last < *first) return {};
  FrameRange out;
  out.tap_step = steps.step();
  out.tap = *first + (last - *first) / out.tap_step * out.tap_step;
  if (out.tap < least) return {};
  out.count = (out.tap - std::max(least, *first)) / out.tap_step + 1;
  out.frame = (raw - out.tap * op.window.dilation[a]) / op.window.stride[a];
  out.frame_step = out.tap_step * op.window.dilation[a] / op.window.stride[a];
  return out;
}

/// Call `visit(at_x, at_w)` for the frames and taps of the output element `index`, in the order of
/// the frames.
template <class Visit>
void for_each_frame(const Deconv& op, const View& x, const View& w,
                    const std::array<int64_t, kMaxRank>& index, Visit&& visit) {
  const int spatial = op.window.axes();
  std::array<FrameRange, kMaxRank> ranges{};
  std::array<int64_t, kMaxRank> at{};
  std::array<int64_t, kMaxRank> counts{};
  for (int i = 0; i < spatial; ++i) {
    const auto a = static_cast<size_t>(i);
    ranges[a] = frames_of(op, i, index[a + 2], x.extent(i + 2));
    counts[a] = ranges[a].count;
    if (counts[a] == 0) return;
  }
  do {
    int64_t at_x = 0;
    int64_t at_w = 0;
    for (int i = 0; i < spatial; ++i) {
      const auto a = static_cast<size_t>(i);
      at_x += (ranges[a].frame + at[a] * ranges[a].frame_step) * x.stride[a + 2];
      at_w += (ranges[a].tap - at[a] * ranges[a].tap_step) * w.stride[a + 2];
    }
    visit(at_x, at_w);
  } while (next_index(&at, counts.data(), spatial));
}

template <class Stored, class T>
void eval_as(const Deconv& op, EvalCtx& ctx) {
  const View& x = ctx.in[0];
  const View& w = ctx.in[1];
  const View& y = ctx.out[0];
  const int64_t per_group = w.shape[0] / op.groups;
  std::array<int64_t, kMaxRank> index{};
  for (int64_t n = y.volume(); n > 0; --n) {
    const int64_t o = index[1];
    T sum = op.has_bias ? static_cast<T>(ctx.in[2].as<Stored>()[o * ctx.in[2].stride[0]]) : T{};
    const int64_t from_x = index[0] * x.stride[0] + o / per_group * w.shape[1] * x.stride[1];
    const int64_t from_w = o * w.stride[0];
    for_each_frame(op, x, w, index, [&](int64_t at_x, int64_t at_w) {
      for (int64_t c = 0; c < w.shape[1]; ++c) {
        const T xv = static_cast<T>(x.as<Stored>()[from_x + at_x + c * x.stride[1]]);
        const T wv = static_cast<T>(w.as<Stored>()[from_w + at_w + c * w.stride[1]]);
        sum = kernels::fused(xv, wv, sum);
      }
    });
    if (op.clip.on) sum = kernels::limited<T>(sum, op.clip.lo, op.clip.hi);
    y.as<Stored>()[offset_of(y, index)] = static_cast<Stored>(sum);
    next_index(&index, y.shape.data(), y.rank);
  }
}

}  // namespace

Status Deconv::eval(EvalCtx& ctx) const {
  const auto eval = [&](auto tag) {
    using Stored = decltype(tag);
    eval_as<Stored, Computed<Stored>>(*this, ctx);
  };
  visit_one_of<float, double, Half, BFloat16>(ctx.out[0].dtype, eval);
  return {};
}

Status Deconv::fuse(Rewrite& rewrite) const {
  return fuse_as_f32(*this, rewrite);
}

/// Absorb a slice along a spatial axis.
Status Deconv::absorb_slice(const Node& producer, Rewrite& consumer) const {
  const auto* slice = consumer.node().op->as<Slice>();
  if (!slice || slice->axis < 2) return {};
  const auto axis = static_cast<int>(slice->axis);
  const auto begin = slice->begin.to_int();
  const auto left = (producer.outputs[0].dim(axis) - slice->end).to_int();
  if (!begin || !left || *begin < 0 || *left < 0) return {};
  Deconv shorter = *this;
  shorter.window.same = false;
  shorter.window.padding.clear();
  for (int i = 0; i < window.axes(); ++i) shorter.window.padding.push_back(cut(i));
  auto& [before, after] = shorter.window.padding[static_cast<size_t>(axis) - 2];
  before += *begin;
  after += *left;
  // `same` may cut a negative number of frames.
  if (!shorter.window.check(window.axes()).ok()) return {};
  return consumer.replace_by(make_op<Deconv>(shorter), consumer.mapped_inputs(producer));
}

Status Deconv::absorb(const Node& producer, Rewrite& consumer, int input) const {
  const Graph& graph = consumer.old_graph();
  if (!consumer.fusing()) {
    // A pulsed operator keeps its slices.
    if (graph.streaming) return {};
    RILL_TRY(absorb_slice(producer, consumer));
    if (consumer.replacement()) return {};
    // Scaled filters round differently.
    if (producer.outputs[0].dtype != DType::kF32 || graph.keeps_rounding()) return {};
    Deconv folded = *this;
    folded.has_bias = true;
    return absorb_affine(make_op<Deconv>(folded), producer, consumer, input);
  }
  if (producer.outputs[0].dtype != DType::kF32) return {};
  const auto limits = clip_with(clip, consumer, input);
  if (!limits) return {};
  Deconv fused = *this;
  fused.clip = *limits;
  return consumer.replace_by(make_op<Deconv>(fused), consumer.mapped_inputs(producer));
}

Status Deconv::pulsify(PulseBuilder& b) const {
  for (int i = 1; i < b.inputs(); ++i) {
    if (b.stream(i)) return b.refuse("Use constant filters", "its filter or bias streams");
  }
  if (!b.stream(0)) return Op::pulsify(b);
  StreamFact stream = *b.stream(0);
  if (stream.axis == 0) return Op::pulsify(b);
  if (stream.axis == 1) {
    return b.refuse("Stream along time, not along channels",
                    "the streaming axis 1 is the channel axis, over which it sums");
  }
  const auto a = static_cast<size_t>(stream.axis) - 2;
  const int axis = stream.axis - 2;
  const int64_t s = window.stride[a];
  const int64_t reach = window.extent(axis);
  const auto [before, after] = cut(axis);
  // Frame n and the `history` frames before it give outputs n * s to n * s + s - 1. The first
  // `before` outputs are cut off, so the first frames may be read as history only.
  const int64_t history = (reach - 1) / s;
  if (history > kMostReach) {
    return b.refuse("Use a window that a stream can keep", "its window reaches over ", history,
                    " frames of streaming axis ", stream.axis, ": expected at most ", kMostReach);
  }
  const int64_t skipped = std::min(history, before / s);
  StreamWindow frames;
  frames.kernel = history + 1;
  frames.before = history - skipped;
  // The last outputs read this number of zero frames after the last frame.
  frames.after = std::max<int64_t>(0, (reach - 1 - after + extra[a]) / s);
  RILL_ASSIGN(frames.pad_value, Tensor::zeros(b.in(0).dtype, {}));
  frames.unread = std::max<int64_t>(0, (b.unread() + before) / s - skipped);
  frames.rate = s;
  frames.cut = before - skipped * s;
  frames.frame_by_window = true;
  frames.padding_is_frames = true;
  b.reads_from(0, 1, before - history * s, s);
  RILL_ASSIGN(const OutletId x, b.window(b.wire(0), &stream, frames));
  Deconv pulsed = *this;
  pulsed.window.same = false;
  pulsed.window.padding.clear();
  for (int i = 0; i < window.axes(); ++i) pulsed.window.padding.push_back(cut(i));
  // A pulse keeps its own part of the outputs of its frames and their history.
  pulsed.window.padding[a] = {history * s, std::max<int64_t>(0, reach - s)};
  pulsed.extra[a] = std::max<int64_t>(0, s - reach);
  std::vector<OutletId> inputs{x};
  for (int i = 1; i < b.inputs(); ++i) inputs.push_back(b.wire(i));
  RILL_ASSIGN(const OutletId out, b.add1(make_op<Deconv>(pulsed), inputs));
  stream.delay = (stream.delay - skipped) * s + before;
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
  if (any_of(extra, [](int64_t e) { return e != 0; })) {
    const Fact& out = ctx.node().outputs[0];
    shape = str_cat(", output_shape = ", ctx.dims(std::span(out.shape).subspan(2)));
  }
  ctx.assign(str_cat("deconv(", x, ", ", w, ", ", bias, window_text(window, 0), shape,
                     ", groups = ", groups, ")"));
  return {};
}

namespace {

/// Set `extra` so that the spatial axes of the output have this shape.
Status set_shape(Deconv* op, const Fact& in, std::span<const Dim> shape) {
  for (int i = 0; i < op->window.axes(); ++i) {
    const auto a = static_cast<size_t>(i);
    const auto [before, after] = op->cut(i);
    const Dim plain = (in.dim(i + 2) - Dim(1)) * Dim(op->window.stride[a]) +
                      Dim(op->window.extent(i) - before - after);
    RILL_ASSIGN(op->extra[a], (shape[a] - plain).as_int());
  }
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
    RILL_CHECK(shape.size() == op.extra.size(), "output_shape of ",
               counted(shape.size(), "entry", "entries"));
    RILL_TRY(set_shape(&op, ctx.fact(x), shape));
  }
  std::vector<OutletId> inputs{x, w};
  RILL_ASSIGN(const auto bias, load_bias(ctx, ctx.fact(x).dtype, filter_shape[0]));
  op.has_bias = bias.has_value();
  if (bias) inputs.push_back(*bias);
  return ctx.add_value(make_op<Deconv>(op), inputs);
}

/// Read `debox`: add every input element to each element of a window, channel by channel.
/// `normalize` has no effect, as in tract.
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
  RILL_CHECK(shape.empty() || shape.size() == size.size(), "output_shape of ",
             counted(shape.size(), "entry", "entries"));
  if (!shape.empty()) {
    RILL_TRY(set_shape(&op, in, std::span<const Dim>(shape).subspan(2)));
  }
  std::vector<int64_t> filter_shape{op.groups, 1};
  filter_shape.insert(filter_shape.end(), size.begin() + 2, size.end());
  constexpr int64_t kMostOnes = int64_t{1} << 26;  // allocated below
  const auto ones_count = checked_volume(filter_shape);
  RILL_CHECK(ones_count && *ones_count <= kMostOnes, "argument \"size\" is ", size, " for ",
             counted(op.groups, "channel"), ": expected at most ", kMostOnes, " taps in all");
  RILL_ASSIGN(Tensor ones, Tensor::zeros(DType::kF32, filter_shape));
  std::fill_n(ones.mutable_data<float>(), ones.volume(), 1.0F);
  RILL_ASSIGN(ones, cast(ones, in.dtype));
  RILL_ASSIGN(const OutletId filter, ctx.konst(std::move(ones), "filter"));
  return ctx.add_value(make_op<Deconv>(op), {x, filter});
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

constexpr OpClass kClasses[] = {op_class<Deconv>("Deconv")};

}  // namespace

extern const OpModule deconv_module;
const OpModule deconv_module = {"deconv", kOps, kClasses};

}  // namespace rill::ops
