#include "ops/array/slice.h"

#include <algorithm>
#include <cstdlib>

#include "core/dim/bound.h"
#include "core/dim/pattern.h"
#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/graph/size_trace.h"
#include "core/graph/walk.h"
#include "ops/array/axis_argument.h"
#include "ops/array/common.h"
#include "ops/array/range.h"
#include "ops/array/spread.h"
#include "ops/array/symbolic.h"
#include "ops/stream/latch.h"
#include "ops/stream/tail.h"

namespace rill::ops {
namespace {

std::vector<AxisTrack> axes_but(int64_t axis, int rank) {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) tracks.push_back({{i}, {i}});
  }
  return tracks;
}

/// Return every `step`-th element along an axis, with the shape of `out`.
template <class T>
T strided(const T& from, const T& out, int64_t axis, int64_t step) {
  T view = from;
  const auto i = static_cast<size_t>(axis);
  view.shape = out.shape;
  // A single element needs no stride.
  view.stride[i] = out.shape[i] > 1 ? from.stride[i] * step : 0;
  return view;
}

int64_t bytes_of(DType dtype) {
  if (dtype == DType::kString) return sizeof(std::string);
  if (dtype == DType::kDim) return sizeof(Dim);
  return dtype_size(dtype);
}

void eval_strided(EvalCtx& ctx, int64_t axis, int64_t first, int64_t step) {
  if (ctx.out[0].volume() == 0) return;
  View view = strided(ctx.in[0], ctx.out[0], axis, step);
  const int64_t offset = first * ctx.in[0].step(static_cast<int>(axis));
  view.data = static_cast<std::byte*>(view.data) + offset * bytes_of(view.dtype);
  copy_view(view, ctx.out[0]);
}

void lower_strided(Lowering& lowering, int64_t axis, int64_t first, int64_t step) {
  Operand out = strided(lowering.in(0), lowering.out_shape(0), axis, step);
  out.konst = nullptr;
  if (out.volume() > 0) {
    out.ref.offset += first * lowering.in(0).step(static_cast<int>(axis)) * dtype_size(out.dtype);
  }
  lowering.set_out(0, std::move(out));
}

}  // namespace

Result<Facts> Slice::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  const Dim& extent = in[0].dim(static_cast<int>(axis));
  const auto ordered = [](const Dim& low, const Dim& high) {
    const auto difference = (high - low).to_int();
    return !difference || *difference >= 0;
  };
  const auto first = begin.to_int();
  const auto last = end.to_int();
  // As in NumPy, a slice whose end is before its begin is empty.
  const bool empty = first && last && *first >= 0 && *last <= *first;
  RILL_CHECK(empty || (ordered(Dim(0), begin) && ordered(begin, end) && ordered(end, extent)), "[",
             begin, ", ", end, ") is out of axis ", axis, " of ", in[0]);
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(axis)] = empty ? Dim(0) : end - begin;
  return one_fact(std::move(out));
}

Status Slice::eval(EvalCtx& ctx) const {
  const auto first = begin.is_const() ? begin.to_int() : ctx.value_of(begin);
  if (!first) RILL_NOT_IN_STEPS(return begin.as_int().take_status();)
  const int64_t extent = ctx.in[0].extent(static_cast<int>(axis));
  const int64_t length = ctx.out[0].extent(static_cast<int>(axis));
  if (length == 0) return {};
  if (*first < 0 || *first > extent - length) {
    return fail(Code::kShape, "slice of ", length, " from ", *first, " on: there are ", extent);
  }
  eval_strided(ctx, axis, *first, 1);
  return {};
}

Status Slice::lower(Lowering& lowering) const {
  RILL_ASSIGN(int64_t first, begin.as_int());
  const int64_t length = lowering.out_shape(0).extent(static_cast<int>(axis));
  const int64_t extent = lowering.in(0).extent(static_cast<int>(axis));
  if (length == 0) first = 0;
  RILL_CHECK(first >= 0 && first <= extent - length, "slice of ", length, " from ", first,
             " on: there are ", extent);
  lower_strided(lowering, axis, first, 1);
  return {};
}

Course Slice::course() const {
  return {.form = Course::Form::kCut, .axes = {&axis, 1}, .begin = &begin, .end = &end};
}

std::vector<AxisTrack> Slice::axes(FactSpan in, FactSpan) const {
  return axes_but(axis, in[0].rank());
}

namespace {

/// Return the size at the current index of the sliced list.
template <class Place>
std::optional<SizeRatio> picked_size(const SizeTrace& trace, int64_t axis, Place&& place) {
  const Fact& from = trace.in_fact(0);
  const bool list = volume(from.shape) == from.dim(static_cast<int>(axis));
  return trace.place() && list ? trace.in(0, place(*trace.place())) : std::nullopt;
}

}  // namespace

std::optional<SizeRatio> Slice::size(const SizeTrace& trace) const {
  return picked_size(trace, axis, [&](const Dim& place) { return place + begin; });
}

std::optional<SizeRatio> Downsample::size(const SizeTrace& trace) const {
  if (stride < 0) return std::nullopt;
  return picked_size(trace, axis,
                     [&](const Dim& place) { return place * Dim(stride) + Dim(modulo); });
}

namespace {

/// Return the frame at which a slice begins whenever it is not empty: c for min(c, frames).
std::optional<int64_t> fixed_begin(const PulseBuilder& b, const Slice& slice, const Dim& frames) {
  const Dim begin = b.scope().simplify(slice.begin);
  if (const auto number = begin.to_int()) return number;
  const auto pattern = DimPattern::of(begin, b.symbol());
  if (!pattern.ok()) return std::nullopt;
  const auto first = begin.eval({{std::string(b.symbol()), pattern->settled()}});
  if (!first || *first < 0) return std::nullopt;
  // The slice begins there, or is empty.
  const Dim count = b.scope().simplify(slice.end) - begin;
  const Dim elsewhere = max(begin - Dim(*first), Dim(*first) - begin);
  const auto wrong = DimPattern::of(min(min(frames + Dim(1), count), elsewhere), b.symbol());
  if (!wrong.ok()) return std::nullopt;
  const auto most = wrong->greatest(1);
  return most.ok() && *most && **most <= 0 ? first : std::nullopt;
}

/// Stream the rows of a table, one per frame.
Status pulsify_rows(PulseBuilder& b, const Slice& slice) {
  const int axis = static_cast<int>(slice.axis);
  const Dim frames = b.out(0).dim(axis);
  if (!slice.begin.is_const() || !frames.mentions(b.symbol())) {
    return b.refuse("Begin at a fixed row", "rows [", slice.begin, ", ", slice.end,
                    ") of a table begin at a row that is known only at the end of the stream");
  }
  RILL_ASSIGN(const OutletId wire, b.rows(axis, slice.begin));
  b.set(0, wire, StreamFact{axis, frames, 0, nullptr});
  return {};
}

/// Keep the first frames of a stream as a static value.
Status pulsify_first_frames(PulseBuilder& b, StreamFact stream, int64_t begin, int64_t end) {
  const int64_t first = begin;
  OutletId x = b.wire(0);
  RILL_ASSIGN(const auto prefix, b.prefix_of(0));
  if (prefix && end <= prefix->count) {
    auto op = make_op<Slice>(stream.axis, Dim(begin), Dim(end));
    RILL_ASSIGN(const OutletId frames, b.add1(std::move(op), {prefix->frames}));
    b.reads_from(0, 0, begin);
    b.set(0, frames, std::nullopt);
    return {};
  }
  if (prefix && begin >= prefix->count) {
    x = prefix->rest;
    stream = prefix->stream;
    begin -= prefix->count;
    end -= prefix->count;
  } else if (begin + stream.delay < 0) {
    RILL_ASSIGN(x, b.materialise(x, &stream));
  }
  RILL_ASSIGN(const int64_t pulse, b.pulse_of(x, stream.axis));
  auto latch = draft_op<PulseLatch>();
  latch->axis = stream.axis;
  latch->begin = begin;
  latch->end = end;
  latch->delay = stream.delay;
  b.reads_from(0, 0, first);
  RILL_ASSIGN(const OutletId wire, b.add1(std::move(latch), {x}));
  const int64_t ready = end > begin ? (stream.delay + end - 1) / pulse : 0;
  return b.give(0, wire, {PulsedOutput::Still{ready, begin + stream.delay, pulse}});
}

constexpr int64_t kMostLast = 1 << 24;

/// Return the maximum distance of frame `begin` from the end; nothing if it grows with the stream.
std::optional<int64_t> most_back(const PulseBuilder& b, const Dim& begin, const Dim& frames) {
  const Dim back = b.scope().simplify(frames - begin);
  if (const auto number = back.to_int()) return number;
  const auto pattern = DimPattern::of(back, b.symbol());
  if (!pattern.ok()) return std::nullopt;
  const auto most = pattern->greatest(0);
  return most.ok() ? *most : std::nullopt;
}

/// Keep frames near the end of a stream, which are known at its end. `back`: their maximum distance
/// from the end.
Status pulsify_last_frames(PulseBuilder& b, StreamFact stream, const Dim& begin, int64_t back,
                           int64_t frames) {
  if (bound_of(stream.dim)) {
    return b.refuse("Take the last frames of a stream that has no fixed end",
                    "it takes the last frames "
                    "of a stream that has ",
                    stream.dim, ", for any length of its input");
  }
  RILL_ASSIGN(OutletId x, b.materialise(b.wire(0), &stream));
  RILL_ASSIGN(x, b.hold(x, &stream));
  auto tail = draft_op<PulseTail>();
  tail->axis = stream.axis;
  tail->overlap = back;
  tail->frames = frames;
  tail->delay = stream.delay;
  tail->first = begin;
  RILL_ASSIGN(const OutletId shown, b.delay(x, stream, 0, back));
  RILL_ASSIGN(const OutletId wire, b.add1(std::move(tail), {shown}));
  return b.give(0, wire, {PulsedOutput::AtEnd{x, stream}});
}

}  // namespace

Status Slice::pulsify(PulseBuilder& b) const {
  if (ScoresBuilder* scores = b.scores()) {
    const int on = static_cast<int>(axis);
    if (!scores->square().has(on)) return Op::pulsify(b);
    RILL_ASSIGN(const OutletId wire, b.rows(on, begin));
    b.set(0, wire, StreamFact{on, b.out(0).dim(on), 0, nullptr});
    return {};
  }
  const auto stream = b.stream(0);
  if (!stream) return pulsify_rows(b, *this);
  if (stream->axis != axis) {
    if (begin.mentions(b.symbol()) || end.mentions(b.symbol())) {
      return b.refuse("Slice other axes at fixed places", "slice [", begin, ", ", end, ") of axis ",
                      axis, " depends on the length of the stream, on axis ", stream->axis);
    }
    return Op::pulsify(b);
  }
  const Dim& frames = b.in(0).dim(static_cast<int>(axis));
  const auto skip = fixed_begin(b, *this, frames);
  const auto back = most_back(b, begin, frames);
  const auto count = b.scope().simplify(end - begin).to_int();
  if (!skip && back && *back >= 0 && *back <= kMostLast && count) {
    return pulsify_last_frames(b, *stream, begin, *back, *count);
  }
  if (!skip) {
    const bool last = b.scope().simplify(frames - end) == Dim(0);
    return b.refuse(
        last ? "Assert that streams are long enough, as in --assert 'S >= 4' for the last "
               "four frames; or begin at a fixed frame"
             : "Take these frames in the app, or begin at a fixed frame",
        "slice [", begin, ", ", end, ") of streaming axis ", axis,
        " begins at a frame that is known only at the end of the stream");
  }
  if (const auto last = b.scope().simplify(end).to_int()) {
    return pulsify_first_frames(b, *stream, *skip, *last);
  }
  b.reads_from(0, 1, *skip);
  StreamFact out = *stream;
  out.dim = b.out(0).dim(static_cast<int>(axis));
  if (__builtin_add_overflow(out.delay, *skip, &out.delay)) {
    return b.refuse("Begin at an earlier frame", "slice begins at frame ", *skip);
  }
  b.set(0, b.wire(0), out);
  return {};
}

Status Slice::declutter(Rewrite& rewrite) const {
  const Fact& in = rewrite.in(0);
  if (begin == Dim(0) && end == in.dim(static_cast<int>(axis))) {
    return rewrite.bypass(rewrite.input(0));
  }
  RILL_TRY(spread_constant(rewrite));
  if (rewrite.replacement()) return {};
  const bool bound = open && begin.is_const() && end.is_const();
  if (bound && !is_positional(rewrite.old_graph(), rewrite.input(0))) {
    auto closed = draft_op<Slice>(*this);
    closed->open = false;
    return rewrite.replace_by(std::move(closed), {rewrite.mapped(rewrite.input(0))});
  }
  const auto* first = rewrite.producer_as<Slice>(0);
  if (!first) return take_from_padding(rewrite);
  // If a wire has other readers, its slice may still fuse into its producer, as a crop of a
  // convolution.
  if (first->axis != axis || rewrite.uses(rewrite.input(0)) > 1) return {};
  // Frames that the other slice cuts off must not appear here.
  const SymbolScope& scope = rewrite.scope();
  const bool inside =
      scope.proves_non_negative(begin) && scope.proves_ge(first->end - first->begin, end);
  if (!inside) return {};
  auto both = draft_op<Slice>(axis, first->begin + begin, first->begin + end);
  return rewrite.replace_by(std::move(both), {rewrite.mapped(rewrite.producer(0).inputs[0])});
}

Result<Facts> Downsample::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  RILL_CHECK(stride != 0 && stride != INT64_MIN, "stride ", stride, ": expected another number");
  RILL_CHECK(modulo >= 0, "modulo ", modulo, ": expected 0 or more");
  Fact out = in[0].without_value();
  Dim& extent = out.shape[static_cast<size_t>(axis)];
  const Dim left = extent - Dim(modulo);
  const auto number = left.to_int();
  extent = number && *number <= 0 ? Dim(0) : ceil_div(left, std::abs(stride));
  return one_fact(std::move(out));
}

namespace {

int64_t first_of(const Downsample& op, int64_t extent) {
  return op.stride > 0 ? op.modulo : extent - 1 - op.modulo;
}

}  // namespace

Status Downsample::eval(EvalCtx& ctx) const {
  eval_strided(ctx, axis, first_of(*this, ctx.in[0].extent(static_cast<int>(axis))), stride);
  return {};
}

Status Downsample::lower(Lowering& lowering) const {
  const int64_t extent = lowering.in(0).extent(static_cast<int>(axis));
  lower_strided(lowering, axis, first_of(*this, extent), stride);
  return {};
}

std::vector<AxisTrack> Downsample::axes(FactSpan in, FactSpan) const {
  return axes_but(axis, in[0].rank());
}

Status Downsample::pulsify(PulseBuilder& b) const {
  const auto stream = b.stream(0);
  if (!stream || stream->axis != axis) return Op::pulsify(b);
  if (stride < 0) {
    return b.refuse("Reverse the frames in the app", "stride ", stride, " reads streaming axis ",
                    axis, " backwards, from the end of the stream");
  }
  RILL_ASSIGN(const int64_t pulse, b.pulse_of(b.wire(0), stream->axis));
  if (pulse % stride != 0) {
    return b.refuse_pulse(pulse, stride, "a pulse of ", counted(pulse, "frame"),
                          " is not a multiple of the stride ", stride);
  }
  b.reads_from(0, stride, modulo);
  StreamFact out = *stream;
  const int64_t first = stream->delay + modulo;
  const int64_t phase = (first % stride + stride) % stride;
  out.delay = (first - phase) / stride;
  out.dim = b.out(0).dim(static_cast<int>(axis));
  RILL_ASSIGN(const OutletId wire, b.add1(make_op<Downsample>(axis, stride, phase), {b.wire(0)}));
  b.set(0, wire, out);
  return {};
}

namespace {

/// Clamp a bound to [0, extent] by NumPy's rules, if its sign is known. An undecided bound stays as
/// written: min() around it would hide that two extents agree.
Dim resolved(const SymbolScope& scope, const Dim& bound, const Dim& extent) {
  Dim at = scope.simplify(bound);
  const auto number = at.to_int();
  if (number ? *number < 0 : scope.proves_ge(Dim(-1), at)) at = scope.simplify(extent + at);
  if (scope.proves_ge(Dim(0), at)) return Dim(0);
  if (scope.proves_ge(at, extent)) return extent;
  return at;
}

/// The bounds of a slice, as the NNEF reader resolves them.
struct Bounds {
  Dim begin;
  Dim end;
};

Bounds bounds_of(const SymbolScope& scope, const Dim& extent, const Dim& from, const Dim& to) {
  const Dim begin = resolved(scope, from, extent);
  // An end of 0 means the end of the axis if `begin` is positive or negative from the end. For the
  // last element of an axis with one element, exporters write [0, 0).
  const bool from_end = from.to_int().value_or(0) < 0;
  const bool to_the_end =
      to == Dim(0) && (from_end || extent == Dim(1) || scope.proves_ge(begin, Dim(1)));
  Dim end = to_the_end ? extent : resolved(scope, to, extent);
  if (scope.proves_ge(begin, end)) end = begin;
  return {begin, end};
}

/// Return whether a bound still contains an undecided comparison.
bool is_open(const Dim& bound) {
  bool open = false;
  rebuild(bound, [&](const DimAtom& atom) -> std::optional<Dim> {
    open |= atom.kind == DimAtom::Kind::kGe;
    for (const Dim& arg : atom.args) open |= is_open(arg);
    return Dim(0);
  });
  return open;
}

/// Return the elements of a slice of a range that begins at an expression, such as arange(P, P +
/// S)[:1]. The model may compute shapes from such elements. Nothing for other wires.
std::optional<Tensor> counted_part(const Graph& graph, OutletId x, const Bounds& bounds) {
  constexpr int64_t kMost = 64;
  const Node& node = graph.node(x.node);
  // A range with inputs has bounds that are unknown here.
  if (!node.inputs.empty() || node.op->name() != Range().name()) return std::nullopt;
  const auto* range = static_cast<const Range*>(node.op.get());
  const auto first = bounds.begin.to_int();
  const auto last = bounds.end.to_int();
  if (range->start.is_const() || !first || !last || *first < 0) return std::nullopt;
  if (*last <= *first || *last - *first > kMost) return std::nullopt;
  if (!graph.scope.proves_ge(graph.fact(x).dim(0), *last)) return std::nullopt;
  std::vector<Dim> numbers;
  for (int64_t i = *first; i < *last; ++i) numbers.push_back(range->start + Dim(range->step) * i);
  auto out = Tensor::of<Dim>(DType::kDim, {*last - *first}, numbers);
  return out.ok() ? std::optional(std::move(out).value()) : std::nullopt;
}

Result<Value> load_slice(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const std::vector<int64_t> axes, ctx.integers("axes"));
  RILL_ASSIGN(const std::vector<Dim> begin, computed_dims(ctx, "begin"));
  RILL_ASSIGN(const std::vector<Dim> end, computed_dims(ctx, "end"));
  std::vector<int64_t> strides(axes.size(), 1);
  if (ctx.given("stride")) {
    RILL_ASSIGN(strides, ctx.integers("stride"));
    if (strides.empty()) strides.assign(axes.size(), 1);
  }
  RILL_CHECK(
      begin.size() == axes.size() && end.size() == axes.size() && strides.size() == axes.size(),
      "axes, begin, end and stride have ", axes.size(), ", ", begin.size(), ", ", end.size(),
      " and ", counted(strides.size(), "entry", "entries"), ", expected one each per axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    RILL_ASSIGN(const int64_t axis, axis_in(axes[i], ctx.fact(x).rank()));
    Dim from = begin[i];
    Dim to = end[i];
    const Dim extent = ctx.fact(x).dim(static_cast<int>(axis));
    const bool table = extent.to_int().value_or(0) > 1 && is_positional(ctx.graph(), x);
    if (is_open(from) || table) {
      from = presumed(ctx.graph(), from, extent);
      to = presumed(ctx.graph(), to, extent);
    }
    const Bounds bounds = bounds_of(ctx.graph().scope, extent, from, to);
    if (auto numbers = counted_part(ctx.graph(), x, bounds)) {
      RILL_ASSIGN(x, ctx.konst(*std::move(numbers)));
    } else {
      RILL_ASSIGN(x, ctx.add1(make_op<Slice>(axis, bounds.begin, bounds.end), {x}));
    }
    if (strides[i] == 1) continue;
    RILL_ASSIGN(x, ctx.add1(make_op<Downsample>(axis, strides[i], 0), {x}));
  }
  return as_value(x);
}

/// Return whether the NNEF reader keeps these bounds unchanged. It counts negative bounds from the
/// end, and asserts a result for comparisons in symbolic bounds.
bool reads_unchanged(const Slice& slice, const SymbolScope& scope, const Dim& extent) {
  const bool numbers = slice.begin.is_const() && slice.end.is_const();
  if (is_open(slice.begin) || (extent.is_const() && !numbers)) return false;
  const Bounds read = bounds_of(scope, extent, slice.begin, slice.end);
  return read.begin == slice.begin && read.end == slice.end;
}

Result<Value> load_dyn_slice(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const Dim start, ctx.dim("start"));
  RILL_ASSIGN(const Dim end, ctx.dim("end"));
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, ctx.fact(x).rank()));
  return ctx.add_value(make_op<Slice>(axis, start, end), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment slice<?>(input: tensor<?>, axes: integer[], begin: integer[], end: integer[],"
     " stride: integer[] = []) -> (output: tensor<?>);",
     load_slice},
    {"tract_core",
     "fragment tract_core_dyn_slice(input: tensor<?>, start: integer, end: integer, len: integer,"
     " axis: integer) -> (output: tensor<?>);",
     load_dyn_slice},
    {"tract_core",
     "fragment tract_core_downsample(input: tensor<?>, axis: integer, stride: integer,"
     " modulo: integer = 0) -> (output: tensor<?>);",
     load_on_input<Downsample>},
};

}  // namespace

Status Slice::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  const Dim& extent = ctx.graph().fact(ctx.node().inputs[0]).dim(static_cast<int>(axis));
  if (!reads_unchanged(*this, ctx.graph().scope, extent)) {
    ctx.need_registry("tract_core");
    ctx.assign(str_cat("tract_core_dyn_slice(", x, ", start = ", ctx.dim(begin),
                       ", end = ", ctx.dim(end), ", len = ", ctx.dim(end - begin),
                       ", axis = ", axis, ")"));
    return {};
  }
  ctx.assign(str_cat("slice(", x, ", axes = [", axis, "], begin = [", ctx.dim(begin),
                     "], end = [", ctx.dim(end), "], stride = [1])"));
  return {};
}

Status Downsample::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[2]); }

extern const OpModule slice_module;
const OpModule slice_module = {"slice", kOps};

}  // namespace rill::ops
