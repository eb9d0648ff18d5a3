#include <algorithm>
#include <cstring>

#include "core/base/checked.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "kernels/fft/fft.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/pad.h"
#include "ops/array/slice.h"
#include "ops/kernel_fields.h"
#include "ops/signal/dft.h"
#include "ops/signal/stft_step.h"

namespace rill::ops {
namespace {

/// Transform windows of a signal: the discrete Fourier transform of `frame` samples every `stride`.
/// Shapes: [.., T, .., 2] (re, im) -> [.., (T - frame) / stride + 1, frame, .., 2]. With `real`,
/// the input has no last axis; with `bins`, the output has only the first `bins` bins.
/// Units: not normalised. The window is centred in the frame, with zeros around it.
/// Types: f32. Errors: kShape for a missing axis, if the last axis is not a pair, or for a window
/// longer than the frame.
/// Stream: on `axis`, a window of `frame` samples; pointwise on other axes.
/// Accuracy: that of the FFT kernels, with the same bits for every pulse.
/// Source: tract_core_stft.
struct Stft final : OpBase<Stft> {
  int64_t axis = 0;
  int64_t frame = 1;
  int64_t stride = 1;
  TensorPtr window;   ///< null: rectangular
  bool real = false;  ///< set by `fuse` only
  int64_t bins = 0;   ///< 0: all; set by `fuse` only

  std::string_view name() const override { return "STFT"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axis", axis);
    ranged_field(visitor, "frame", 1, int64_t{1} << 26, frame);
    ranged_field(visitor, "stride", 1, int64_t{1} << 40, stride);
    visitor.field("window", window);
    visitor.field("real", real);
    ranged_field(visitor, "bins", 0, int64_t{1} << 26, bins);
  }
  int64_t kept_bins() const { return bins == 0 ? frame : bins; }
  Result<Facts> infer(FactSpan in) const override;
  Status eval(EvalCtx& ctx) const override;
  /// The reference implementation sums over all samples of a frame for each bin.
  Dim work(FactSpan, FactSpan out) const override { return volume(out[0].shape) * Dim(frame); }
  bool foldable() const override { return false; }
  Status lower(Lowering& lowering) const override;
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override;
  Status pulsify(PulseBuilder& b) const override;
  Status fuse(Rewrite& rewrite) const override;
  Status absorb(const Node& producer, Rewrite& consumer, int input) const override;
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Cost cost(FactSpan, FactSpan out) const override {
    int64_t log2 = 0;
    while ((int64_t{1} << log2) < frame) ++log2;
    return {volume(out[0].shape) * Dim(log2), volume(out[0].shape) * Dim(4)};
  }
  Status save(SaveCtx& ctx) const override;
};

Result<Facts> Stft::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  const Fact& x = in[0];
  const int signal_rank = x.rank() - (real ? 0 : 1);
  RILL_CHECK(axis >= 0 && axis < signal_rank, "no axis ", axis, " in ", x);
  RILL_CHECK(real || x.shape.back() == Dim(2), "input ", x,
             ": expected pairs (re, im) on the last axis");
  RILL_CHECK(frame >= 1 && stride >= 1 && frame < (1 << 26) && stride < (int64_t{1} << 40),
             "frame ", frame, ", stride ", stride, ": expected at least 1");
  RILL_CHECK(bins >= 0 && bins <= frame, counted(bins, "bin"), " of ", frame);
  if (x.dtype != DType::kF32) {
    return fail(Code::kDType, "input ", x, ": expected F32").hint("Cast it first");
  }
  if (window) {
    RILL_CHECK(window->rank() == 1 && window->extent(0) <= frame, "window of ", window->shape(),
               ": expected at most ", frame, " values");
  }
  Fact out = x.without_value();
  const auto a = static_cast<size_t>(axis);
  out.shape[a] = floor_div(x.shape[a] - Dim(frame), stride) + Dim(1);
  if (out.shape[a].is_const() && *out.shape[a].to_int() < 0) out.shape[a] = 0;
  out.shape.insert(out.shape.begin() + static_cast<std::ptrdiff_t>(a) + 1, Dim(kept_bins()));
  if (real) out.shape.emplace_back(2);
  return one_fact(std::move(out));
}

RILL_NOT_IN_STEPS_BEGIN
Status Stft::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const int time = static_cast<int>(axis);
  const int pair = y.rank - 1;
  const int64_t width = window ? window->volume() : frame;
  const int64_t before = (frame - width) / 2;
  const auto weight = [&](int64_t i) {
    if (!window) return 1.0;
    const auto value = i >= before && i < before + width ? element_as_double(*window, i - before)
                                                         : Result<double>(0.0);
    return value.ok() ? *value : 0.0;
  };
  const int64_t spectra = y.volume() == 0 ? 0 : y.volume() / 2 / y.extent(time + 1);
  for (int64_t spectrum = 0; spectrum < spectra; ++spectrum) {
    int64_t rest = spectrum;
    int64_t at_x = 0;
    int64_t at_y = 0;
    for (int i = pair; i-- > 0;) {
      if (i == time + 1) continue;
      const int64_t index = rest % y.extent(i);
      rest /= y.extent(i);
      at_x += index * (i == time ? stride : 1) * x.step(i > time ? i - 1 : i);
      at_y += index * y.step(i);
    }
    const float* from = x.as<const float>() + at_x;
    float* to = y.as<float>() + at_y;
    dft({from, real ? nullptr : from + x.step(x.rank - 1), x.step(time)}, frame, false,
        {to, to + y.step(pair), y.step(time + 1)}, y.extent(time + 1), weight);
  }
  return {};
}
RILL_NOT_IN_STEPS_END

Status Stft::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  const int time = static_cast<int>(axis);
  const int pair = lowering.out_shape(0).rank - 1;
  std::vector<int> order;
  for (int i = 0; i < pair; ++i) {
    if (i != time + 1) order.push_back(i);
  }
  // Frames come after all other axes; the bins of the real and of the imaginary parts are
  // contiguous.
  std::stable_partition(order.begin(), order.end(), [&](int i) { return i != time; });
  order.push_back(pair);
  order.push_back(time + 1);
  const Operand y = lowering.make_out(0, order);
  StftArgs args;
  args.real = real;
  args.frame = frame;
  args.bins = kept_bins();
  args.frames = y.extent(time);
  args.sample_step = x.step(time);
  args.frame_step = stride * x.step(time);
  args.gather = x.step(time) != 1;
  args.imaginary = real ? 0 : x.step(x.rank - 1);
  args.y_frame = y.step(time);
  args.y_imaginary = y.step(pair);
  for (int i = 0; i < x.rank - (real ? 0 : 1); ++i) {
    if (i == time) continue;
    args.lane_count[args.lanes] = x.extent(i);
    args.lane_x[args.lanes] = x.step(i);
    args.lane_y[args.lanes] = y.step(i > time ? i + 1 : i);
    ++args.lanes;
  }
  const auto kind = real ? kernels::FftKind::kReal : kernels::FftKind::kComplex;
  auto [tables, memory] =
      lowering.constant<float>(static_cast<int64_t>(kernels::fft_tables_floats(frame, kind)));
  args.tables = tables;
  kernels::fft_init(&args.plan, frame, kind, memory, kernels::active_tier());
  args.plan.passes.twiddles = nullptr;
  if (window) {
    auto [ref, values] = lowering.constant<float>(frame);
    RILL_ASSIGN(const Tensor floats, cast(*window, DType::kF32));
    std::copy(floats.data<float>(), floats.data<float>() + floats.volume(),
              values + (frame - floats.volume()) / 2);
    args.window = ref;
    args.windowed = true;
  }
  args.scratch = lowering.scratch_bytes(
      (4 * frame + static_cast<int64_t>(kernels::fft_scratch_floats(args.plan)) + 16) * 4);
  args.x = x.ref;
  args.y = y.ref;
  if (y.volume() == 0) return {};
  std::vector<Touched> reads = {x, tables};
  if (args.windowed) reads.emplace_back(args.window);
  lowering.step(kStft, args, reads, {y, args.scratch});
  return {};
}

std::vector<AxisTrack> Stft::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < in[0].rank() - (real ? 0 : 1); ++i) {
    if (i != axis) tracks.push_back({{i}, {i > axis ? i + 1 : i}});
  }
  return tracks;
}

Status Stft::pulsify(PulseBuilder& b) const {
  if (!b.stream(0)) return Op::pulsify(b);
  StreamFact stream = *b.stream(0);
  if (stream.axis != axis) return Op::pulsify(b);
  StreamWindow on_stream;
  on_stream.kernel = frame;
  on_stream.stride = stride;
  on_stream.pad_value = Tensor::scalar(0.0F);
  on_stream.frame_by_window = true;
  on_stream.unread = b.unread();
  b.reads_from(0, stride, 0);
  on_stream.padding_is_frames = true;
  RILL_ASSIGN(const OutletId x, b.window(b.wire(0), &stream, on_stream));
  RILL_ASSIGN(const OutletId out, b.add1(clone(), {x}));
  stream.dim = b.out(0).dim(static_cast<int>(axis));
  b.set(0, out, stream);
  return {};
}

/// Read a real signal directly, where the file writes it as pairs: with a unit axis, and a zero
/// next to each sample.
Status Stft::fuse(Rewrite& rewrite) const {
  if (real) return {};
  const auto* pad = rewrite.producer_as<Pad>(0);
  if (!pad || pad->mode != "constant") return {};
  const auto value = element_as_double(*pad->value, 0);
  if (!value.ok() || *value != 0.0) return {};
  const int last = rewrite.in(0).rank() - 1;
  for (int i = 0; i <= last; ++i) {
    const std::pair<int64_t, int64_t> wanted{0, i == last ? 1 : 0};
    if (pad->pads[static_cast<size_t>(i)] != wanted) return {};
  }
  const Node& padding = rewrite.producer(0);
  const Node& added = rewrite.old_graph().node(padding.inputs[0].node);
  const auto* axis_op = added.op->as<AddAxis>();
  if (!axis_op || axis_op->axis != last) return {};
  auto faster = draft_op<Stft>(*this);
  faster->real = true;
  return rewrite.replace_by(faster, {rewrite.mapped(added.inputs[0])});
}

Status Stft::absorb(const Node& producer, Rewrite& consumer, int) const {
  const auto* slice = consumer.node().op->as<Slice>();
  if (!consumer.fusing() || !slice || bins != 0 || slice->axis != axis + 1) return {};
  const auto begin = slice->begin.to_int();
  const auto end = slice->end.to_int();
  if (!begin || *begin != 0 || !end || *end < 1 || *end > frame) return {};
  auto shorter = draft_op<Stft>(*this);
  shorter->bins = *end;
  return consumer.replace_by(shorter, consumer.mapped_inputs(producer));
}

Result<Value> load(LoadCtx& ctx) {
  Stft op;
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_TRY(ctx.all_fields(op));
  return ctx.add_value(make_op<Stft>(op), {x});
}

const NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_stft(input: tensor<scalar>, axis: integer, frame: integer, "
     "stride: integer, window: tensor<scalar> = false) -> (output: tensor<scalar>);",
     load}};

constexpr OpClass kClasses[] = {op_class<Stft>("Stft")};

}  // namespace

Status Stft::save(SaveCtx& ctx) const {
  std::string name;
  if (window) {
    RILL_ASSIGN(name, ctx.variable("window", window));
  }
  return ctx.assign_declared(kOps[0], {{"window", name}});
}

extern const OpModule stft_module;
const OpModule stft_module = {"stft", kOps, kClasses};

}  // namespace rill::ops
