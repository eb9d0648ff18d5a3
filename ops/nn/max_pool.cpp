#include <cstring>
#include <limits>

#include "core/base/checked.h"
#include "core/exec/frames.h"
#include "core/graph/rewrite.h"
#include "core/tensor/visit_number.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/math/extreme.h"
#include "ops/nn/pool_lower.h"

namespace rill::ops {
namespace {

/// Take the largest element of each window.
/// Shapes: [N, C, D...] -> [N, C, D'...], and the same for the index; D' as for `conv`.
/// Types: f16, f32, f64, integers, and quantised ones, kept; the index is i64: the flat offset in
/// the unpadded plane.
/// Errors: kShape, kDType.
/// Stream: on a spatial axis, history and a mask of the lowest number for the padding; other axes
/// frame by frame. The index counts from the start of the stream, which must be the first spatial
/// axis.
/// Accuracy: exact. A window with NaNs gives the last NaN; of equal elements, the first is taken.
/// Source: NNEF 1.0, `max_pool_with_index`.
struct MaxPool final : OpBase<MaxPool> {
  Window window;
  bool with_index = false;
  /// Set by pulsing only: with the stream's clock, `delay` and `before` give the offset that makes
  /// the index count from the start of the stream.
  bool streaming = false;
  int64_t delay = 0;   ///< position of frame 0 of the output
  int64_t before = 0;  ///< padding

  std::string_view name() const override { return "MaxPool"; }
  void fields(FieldVisitor& visitor) override {
    window.fields(visitor);
    visitor.field("with_index", with_index);
    if (!streaming) return;
    position_field(visitor, "delay", delay);
    frames_field(visitor, "before", before);
  }
  void all_fields(FieldVisitor& visitor) {
    visitor.field("streaming", streaming);
    fields(visitor);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    const Fact& x = in[0];
    RILL_CHECK(x.rank() == window.axes() + 2, "input ", x, " for a window over ", window.axes(),
               " axes");
    RILL_TRY(window.check(x.rank() - 2));
    RILL_CHECK(before >= 0 && before < kMostFrames && delay > -kMostFrames && delay < kMostFrames,
               "delay ", delay, ", before ", before, " are out of range");
    if (!is_float(x.dtype) && !is_int(x.dtype) && !is_quantised(x.dtype)) {
      return fail(Code::kDType, "input ", x, ": expected numbers");
    }
    Fact out{x.dtype, x.q, {x.dim(0), x.dim(1)}, {}};
    for (int i = 0; i < window.axes(); ++i) out.shape.push_back(window.output(i, x.dim(i + 2)));
    Facts facts{out};
    if (with_index) facts.push_back(Fact::of(DType::kI64, out.shape));
    return facts;
  }
  Status eval(EvalCtx& ctx) const override;
  Status lower(Lowering& lowering) const override {
    if (!with_index && lowering.in(0).dtype == DType::kF32 &&
        lower_pool_f32(lowering, window, -std::numeric_limits<float>::infinity(), 1.0F, true)) {
      return {};
    }
    return Op::lower(lowering);
  }
  Dim work(FactSpan, FactSpan out) const override { return volume(out[0].shape) * window.taps(); }
  Status fuse(Rewrite& rewrite) const override {
    return with_index ? Status() : fuse_as_f32(*this, rewrite);
  }
  OpTraits traits() const override {
    return {.by_channels = true, .precision = Precision::kFollows};
  }
  std::vector<AxisTrack> axes(FactSpan, FactSpan out) const override {
    std::vector<AxisTrack> tracks;
    for (int axis = 0; axis < 2; ++axis) {
      tracks.push_back({{axis}, std::vector<int>(out.size(), axis)});
    }
    return tracks;
  }
  Status pulsify(PulseBuilder& b) const override {
    if (!b.stream(0)) return Op::pulsify(b);
    const int axis = b.stream(0)->axis;
    if (axis < 2) return Op::pulsify(b);
    if (with_index && axis > 2) {
      b.set_refused(1, b.refuse("Put the stream on the first spatial axis, or use the values only",
                                "the index counts over planes whose rows, on streaming axis ", axis,
                                ", are as long as the whole stream"));
    }
    MaxPool pulsed = *this;
    StreamFact stream;
    RILL_ASSIGN(const Tensor lowest, lowest_of(b.in(0)));
    RILL_ASSIGN(const OutletId x, pulse_window(b, window, lowest, true, &stream, &pulsed.window));
    pulsed.with_index = with_index && axis == 2;
    if (pulsed.with_index) {
      Window resolved = window;
      (void)resolve_same(&resolved, b.in(0));
      pulsed.streaming = true;
      pulsed.delay = stream.delay;
      pulsed.before = resolved.padding[0].first;
    }
    RILL_ASSIGN(const auto outlets, b.add("", make_op<MaxPool>(pulsed), {x}));
    stream.dim = b.out(0).dim(axis);
    for (size_t i = 0; i < outlets.size(); ++i) b.set(static_cast<int>(i), outlets[i], stream);
    return {};
  }
  Status declutter(Rewrite& rewrite) const override {
    MaxPool simpler = *this;
    if (!resolve_same(&simpler.window, rewrite.in(0))) return {};
    return rewrite.replace_by(make_op<MaxPool>(simpler), rewrite.mapped_inputs(rewrite.node()));
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    std::vector<int64_t> size(2, 1);
    size.insert(size.end(), window.kernel.begin(), window.kernel.end());
    std::string args = str_cat("(", x, ", size = ", nnef_text(std::span<const int64_t>(size)),
                               window_text(window, 2), ")");
    if (streaming) {
      ctx.need_registry("rill_pulse");
      args.back() = ',';
      ctx.assign_all(str_cat("rill_pulse_max_pool_with_index", args, " delay = ", delay,
                             ", before = ", before, ")"));
    } else if (with_index) {
      ctx.assign_all("max_pool_with_index" + args);
    } else {
      ctx.assign("max_pool" + args);
    }
    return {};
  }
};

constexpr int64_t kNoElement = std::numeric_limits<int64_t>::min();

/// How to compare elements of one type by their offsets, so that one loop serves all types.
struct Elements {
  /// Return whether an element exceeds the best one, or, without a best one, the lowest number. As
  /// in PyTorch, a NaN replaces the best one.
  bool (*is_better)(const View& x, int64_t at, int64_t best) RILL_NONBLOCKING;
  void (*put_lowest)(const View& y, int64_t at) RILL_NONBLOCKING;
};

template <class T>
constexpr T lowest_of() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? -Limits::infinity() : Limits::min();
}

template <class Stored>
bool is_better_of(const View& x, int64_t at, int64_t best) RILL_NONBLOCKING {
  using T = Computed<Stored>;
  const auto* values = x.as<const Stored>();
  const T value = static_cast<T>(values[at]);
  const T most = best == kNoElement ? lowest_of<T>() : static_cast<T>(values[best]);
  return value > most || is_unordered(value);
}

template <class Stored>
void put_lowest_of(const View& y, int64_t at) RILL_NONBLOCKING {
  y.as<Stored>()[at] = static_cast<Stored>(lowest_of<Computed<Stored>>());
}

Status MaxPool::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  Elements elements = {};
  visit_number(stored_type(x.dtype), [&](auto tag) {
    using Stored = decltype(tag);
    elements = {is_better_of<Stored>, put_lowest_of<Stored>};
  });
  const int64_t bytes = dtype_size(x.dtype);
  // `earlier`: the index of the input's first element in the plane of the whole stream.
  int64_t row = 1;
  for (int i = 3; i < x.rank; ++i) row *= x.extent(i);
  int64_t earlier = 0;
  if (streaming && ctx.clock) {
    const int64_t position = ctx.clock->position(y.extent(2));
    // An index beyond 64 bits is arbitrary.
    const Checked frames = (checked(position) - delay) * window.stride[0] - before;
    earlier = (frames * row).value(INT64_MIN / 4, INT64_MAX / 4).value_or(0);
  }
  int64_t best = kNoElement;
  int64_t best_at = 0;
  for_each_window(
      window, x, y,
      [&] {
        best = kNoElement;
        best_at = 0;
      },
      [&](int64_t at, int64_t flat) {
        if (!elements.is_better(x, at, best)) return;
        best = at;
        best_at = flat + earlier;
      },
      [&](const auto& out) {
        const int64_t to = offset_of(y, out);
        if (best == kNoElement) {
          elements.put_lowest(y, to);
        } else {
          std::memcpy(y.as<std::byte>() + to * bytes, x.as<const std::byte>() + best * bytes,
                      static_cast<size_t>(bytes));
        }
        if (with_index) ctx.out[1].as<int64_t>()[offset_of(ctx.out[1], out)] = best_at;
      });
  return {};
}

Result<Value> load_indexed(LoadCtx& ctx, bool streaming) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_TRY(expect_constant_padding(ctx));
  MaxPool op;
  op.with_index = true;
  op.streaming = streaming;
  RILL_ASSIGN(op.window, load_pool_window(ctx));
  if (streaming) {
    RILL_ASSIGN(op.delay, ctx.integer("delay"));
    RILL_ASSIGN(op.before, ctx.integer("before"));
  }
  RILL_ASSIGN(const auto outlets, ctx.add(make_op<MaxPool>(op), {x}));
  return Value::of_wires(outlets);
}

Result<Value> load_with_index(LoadCtx& ctx) { return load_indexed(ctx, false); }
Result<Value> load_streaming(LoadCtx& ctx) { return load_indexed(ctx, true); }

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  MaxPool op;
  RILL_ASSIGN(op.window, load_pool_window(ctx));
  return ctx.add_value(make_op<MaxPool>(op), {x});
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_max_pool_with_index(input: tensor<scalar>, size: integer[], "
     "delay: integer, before: integer, border: string = 'constant', "
     "padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = []) "
     "-> (output: tensor<scalar>, index: tensor<integer>);",
     load_streaming},
    {"tract_nnef",
     "fragment max_pool_with_index(input: tensor<scalar>, size: integer[], "
     "border: string = 'constant', padding: (integer, integer)[] = [], stride: integer[] = [], "
     "dilation: integer[] = []) -> (output: tensor<scalar>, index: tensor<integer>);",
     load_with_index},
    {"tract_nnef",
     "fragment max_pool(input: tensor<scalar>, size: integer[], border: string = 'constant', "
     "padding: (integer, integer)[] = [], stride: integer[] = [], dilation: integer[] = []) "
     "-> (output: tensor<scalar>);",
     load},
};

constexpr OpClass kClasses[] = {op_class<MaxPool>("MaxPool")};

}  // namespace

extern const OpModule max_pool_module;
const OpModule max_pool_module = {"max_pool", kOps, kClasses};

}  // namespace rill::ops
