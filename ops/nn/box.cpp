#include "core/base/checked.h"
#include "core/dim/bound.h"
#include "core/exec/frames.h"
#include "core/graph/rewrite.h"
#include "core/tensor/visit_number.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/math/binary.h"
#include "ops/nn/pool_lower.h"

namespace rill::ops {
namespace {

/// Sum each window, or average it.
/// `count_padding`: an average divides by the number of taps of the window; without it, by the
/// number of taps inside the input.
/// Shapes: [N, C, D...] -> [N, C, D'...]; D' as for `conv`.
/// Types: f16, f32, f64; whole and quantised numbers between casts. Errors: kShape, kDType.
/// Stream: on a spatial axis, history and a mask of zeros for the padding; an average that excludes
/// padding counts the frames of its window within the stream. Other axes frame by frame.
/// Accuracy: one chain of sums over ascending taps, then one product.
/// Source: NNEF 1.0, `box`.
struct SumPool final : OpBase<SumPool> {
  Window window;
  bool normalize = false;
  bool count_padding = true;
  /// Set by pulsing only: taps outside of the stream are not counted.
  struct Counted {
    int64_t axis = -1;   ///< spatial; -1: these fields have no effect
    int64_t before = 0;  ///< padding
    int64_t delay = 0;   ///< position of frame 0 of the output
    Dim length;          ///< frames of the input
  };
  Counted counted;

  std::string_view name() const override { return "SumPool"; }
  void fields(FieldVisitor& visitor) override {
    window.fields(visitor);
    visitor.field("normalize", normalize);
    visitor.field("count_padding", count_padding);
    if (counted.axis < 0) return;
    counted_fields(visitor);
  }
  void all_fields(FieldVisitor& visitor) {
    window.fields(visitor);
    visitor.field("normalize", normalize);
    visitor.field("count_padding", count_padding);
    counted_fields(visitor);
  }
  void counted_fields(FieldVisitor& visitor) {
    ranged_field(visitor, "counted_axis", -1, kMaxRank, counted.axis);
    frames_field(visitor, "counted_before", counted.before);
    position_field(visitor, "counted_delay", counted.delay);
    visitor.field("counted_length", counted.length);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    const Fact& x = in[0];
    RILL_CHECK(counted.axis >= -1 && counted.axis < window.axes(), "no spatial axis ",
               counted.axis);
    RILL_CHECK(x.rank() == window.axes() + 2, "input ", x, " for a window over ", window.axes(),
               " axes");
    RILL_TRY(window.check(x.rank() - 2));
    RILL_CHECK(counted.before >= 0 && counted.before < kMostFrames &&
                   counted.delay > -kMostFrames && counted.delay < kMostFrames,
               "delay ", counted.delay, ", before ", counted.before, " are out of range");
    if (!is_float(x.dtype)) return fail(Code::kDType, "input ", x, ": expected floats");
    Fact out = Fact::of(x.dtype, {x.dim(0), x.dim(1)});
    for (int i = 0; i < window.axes(); ++i) out.shape.push_back(window.output(i, x.dim(i + 2)));
    return one_fact(std::move(out));
  }
  int64_t taps() const {
    int64_t n = 1;
    for (const int64_t k : window.kernel) n *= k;
    return n;
  }
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override {
    const bool uniform = !normalize || count_padding || (!window.padded() && counted.axis < 0);
    const float scale = normalize ? 1.0F / static_cast<float>(taps()) : 1.0F;
    if (uniform && lowering.in(0).dtype == DType::kF32 &&
        lower_pool_f32(lowering, window, 0.0F, scale, false)) {
      return {};
    }
    return Op::lower(lowering);
  }
  Dim work(FactSpan, FactSpan out) const override {
    return Dim(2) * volume(out[0].shape) * window.taps();
  }
  Status fuse(Rewrite& rewrite) const override { return fuse_as_f32(*this, rewrite); }
  OpTraits traits() const override {
    return {.by_channels = true, .precision = Precision::kSums};
  }
  std::vector<AxisTrack> axes(FactSpan, FactSpan) const override {
    return {{{0}, {0}}, {{1}, {1}}};
  }
  Status pulsify(PulseBuilder& b) const override {
    if (!b.stream(0)) return Op::pulsify(b);
    const int axis = b.stream(0)->axis;
    if (axis < 2) return Op::pulsify(b);
    SumPool pulsed = *this;
    StreamFact stream;
    RILL_ASSIGN(const Tensor zero, Tensor::zeros(b.in(0).dtype, {}));
    RILL_ASSIGN(const OutletId x, pulse_window(b, window, zero, false, &stream, &pulsed.window));
    Window resolved = window;
    (void)resolve_same(&resolved, b.in(0));
    const auto [before, after] = resolved.padding[static_cast<size_t>(axis) - 2];
    if (normalize && !count_padding && (before != 0 || after != 0)) {
      if (bound_of(b.in(0).dim(axis))) {
        return b.refuse("Count the padding too, or pool a stream that has no fixed end",
                        "it counts the frames of a stream that has ", b.in(0).dim(axis),
                        ", for any length of its input");
      }
      pulsed.counted = {axis - 2, before, stream.delay, b.in(0).dim(axis)};
    }
    RILL_ASSIGN(const OutletId out, b.add1(make_op<SumPool>(pulsed), {x}));
    stream.dim = b.out(0).dim(axis);
    b.set(0, out, stream);
    return {};
  }
  Status declutter(Rewrite& rewrite) const override {
    SumPool simpler = *this;
    if (!resolve_same(&simpler.window, rewrite.in(0))) return {};
    return rewrite.replace_by(make_op<SumPool>(simpler), rewrite.mapped_inputs(rewrite.node()));
  }
  Tolerance tolerance() const override { return Tolerance::kRounding; }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    std::vector<int64_t> size(2, 1);
    size.insert(size.end(), window.kernel.begin(), window.kernel.end());
    const std::string common = str_cat(
        "(", x, ", size = ", nnef_text(std::span<const int64_t>(size)), window_text(window, 2));
    if (counted.axis >= 0) {
      ctx.need_registry("rill_pulse");
      ctx.assign(str_cat("rill_pulse_average", common, ", axis = ", counted.axis,
                         ", before = ", counted.before, ", delay = ", counted.delay,
                         ", length = ", ctx.dim(counted.length), ")"));
      return {};
    }
    std::string text = str_cat("box", common, ", normalize = ", normalize, ")");
    if (!count_padding) {
      const std::string from = "border = \"constant\"";
      text.replace(text.find(from), from.size(), "border = \"ignore\"");
    }
    ctx.assign(text);
    return {};
  }
};

/// Counts the taps of a window that lie within the stream.
class TapCounter {
 public:
  TapCounter(const SumPool& op, const EvalCtx& ctx) : op_(op), counts_(op.counted.axis >= 0) {
    if (!counts_) return;
    const int64_t frames = ctx.out[0].extent(axis());
    const int64_t position = ctx.clock ? ctx.clock->position(frames) : 0;
    const Checked first =
        (checked(position) - op.counted.delay) * op.window.stride[at()] - op.counted.before;
    // A position that overflows is outside of the stream.
    first_ = first.value(INT64_MIN / 4, INT64_MAX / 4).value_or(INT64_MIN / 4);
    const bool known = op.counted.length.is_const() || (ctx.clock && ctx.clock->end >= 0);
    if (known) length_ = ctx.value_of(op.counted.length).value_or(length_);
  }
  int64_t inside(const std::array<int64_t, kMaxRank>& out, int64_t taps) const {
    if (!counts_) return taps;
    const int64_t from = first_ + out[static_cast<size_t>(axis())] * op_.window.stride[at()];
    const int64_t kernel = op_.window.kernel[at()];
    const TapRange inside = taps_inside(from, op_.window.dilation[at()], kernel, length_);
    return taps / kernel * std::max<int64_t>(0, inside.end - inside.begin);
  }

 private:
  size_t at() const { return static_cast<size_t>(op_.counted.axis); }
  int axis() const { return static_cast<int>(op_.counted.axis) + 2; }

  const SumPool& op_;
  bool counts_;
  int64_t first_ = 0;  ///< the frame under the first tap of output 0
  int64_t length_ = kMostElements;  ///< of the stream; above every length while it is unknown
};

template <class Stored, class T>
void eval_as(const SumPool& op, EvalCtx& ctx) {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  const TapCounter counter(op, ctx);
  T sum{};
  int64_t inside_taps = 0;
  for_each_window(
      op.window, x, y,
      [&] {
        sum = 0;
        inside_taps = 0;
      },
      [&](int64_t at, int64_t) {
        sum += static_cast<T>(x.as<Stored>()[at]);
        ++inside_taps;
      },
      [&](const auto& out) {
        const int64_t inside = counter.inside(out, inside_taps);
        const int64_t count = op.count_padding ? op.taps() : std::max<int64_t>(1, inside);
        if (op.normalize) sum *= T{1} / static_cast<T>(count);
        y.as<Stored>()[offset_of(y, out)] = static_cast<Stored>(sum);
      });
}

Status SumPool::eval(EvalCtx& ctx) const {
  const auto eval = [&](auto tag) {
    using Stored = decltype(tag);
    eval_as<Stored, Computed<Stored>>(*this, ctx);
  };
  visit_one_of<float, double, Half, BFloat16>(ctx.in[0].dtype, eval);
  return {};
}

Result<Value> load_as(LoadCtx& ctx, bool normalize) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_TRY(expect_constant_padding(ctx));
  RILL_ASSIGN(const std::string border, ctx.text("border"));
  SumPool op;
  op.normalize = normalize;
  op.count_padding = border == "constant";
  RILL_ASSIGN(op.window, load_pool_window(ctx));
  const Fact given = ctx.fact(x);
  if (is_float(given.dtype)) {
    return ctx.add_value(make_op<SumPool>(op), {x});
  }
  // Integers and quantised numbers are pooled in f32, and cast back.
  RILL_ASSIGN(OutletId real, cast_to(ctx, x, DType::kF32));
  RILL_ASSIGN(real, ctx.add1(make_op<SumPool>(op), {real}));
  RILL_ASSIGN(real, cast_to(ctx, real, given.dtype, given.q));
  return Value(real);
}

Result<Value> load_box(LoadCtx& ctx) {
  RILL_ASSIGN(const bool normalize, ctx.boolean("normalize"));
  return load_as(ctx, normalize);
}
Result<Value> load_average(LoadCtx& ctx) { return load_as(ctx, true); }

Result<Value> load_counted(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  SumPool op;
  op.normalize = true;
  op.count_padding = false;
  RILL_ASSIGN(op.window, load_pool_window(ctx));
  RILL_ASSIGN(op.counted.axis, ctx.integer("axis"));
  RILL_ASSIGN(op.counted.before, ctx.integer("before"));
  RILL_ASSIGN(op.counted.delay, ctx.integer("delay"));
  RILL_ASSIGN(op.counted.length, ctx.dim("length"));
  RILL_CHECK(op.counted.axis >= 0 && op.counted.axis < op.window.axes(), "no spatial axis ",
             op.counted.axis);
  return ctx.add_value(make_op<SumPool>(op), {x});
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_average(input: tensor<scalar>, size: integer[], axis: integer, "
     "before: integer, delay: integer, length: integer, border: string = 'constant', "
     "padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = []) "
     "-> (output: tensor<scalar>);",
     load_counted},
    {"tract_nnef",
     "fragment box(input: tensor<scalar>, size: integer[], border: string = 'constant', "
     "padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = [], "
     "normalize: logical = false) -> (output: tensor<scalar>);",
     load_box},
    {"tract_nnef",
     "fragment avg_pool(input: tensor<scalar>, size: integer[], border: string = 'constant', "
     "padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = []) "
     "-> (output: tensor<scalar>);",
     load_average},
};

constexpr OpClass kClasses[] = {op_class<SumPool>("SumPool")};

}  // namespace

extern const OpModule box_module;
const OpModule box_module = {"box", kOps, kClasses};

}  // namespace rill::ops
