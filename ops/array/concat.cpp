#include "ops/array/concat.h"

#include <algorithm>
#include <optional>

#include "core/base/search.h"
#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/graph/size_trace.h"
#include "core/tensor/uniform.h"
#include "ops/array/axis_argument.h"
#include "ops/array/axis_ops.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/extend_stream.h"
#include "ops/array/slice.h"
#include "ops/stream/latch.h"

namespace rill::ops {

Result<Facts> Concat::infer(FactSpan in) const {
  RILL_CHECK(!in.empty(), "expected at least 1 input, found none");
  RILL_TRY(expect_inputs(in, in.size()));
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  Fact out = in[0].without_value();
  Dim total = 0;
  for (const Fact& fact : in) {
    if (fact.dtype != out.dtype || !(fact.q == out.q)) {
      return fail(Code::kDType, "expected inputs of one type, found ", in[0], " and ", fact);
    }
    RILL_CHECK(fact.rank() == out.rank(), "expected inputs of one rank, found ", in[0], " and ",
               fact);
    for (int i = 0; i < out.rank(); ++i) {
      if (i == axis) continue;
      const auto difference = (fact.dim(i) - out.dim(i)).to_int();
      RILL_CHECK(!difference || *difference == 0, "extents of axis ", i, " differ: ", in[0],
                 " and ", fact);
    }
    total += fact.dim(static_cast<int>(axis));
  }
  out.shape[static_cast<size_t>(axis)] = total;
  return one_fact(std::move(out));
}

Status Concat::eval(EvalCtx& ctx) const {
  const auto i = static_cast<size_t>(axis);
  View to = ctx.out[0];
  if (to.volume() == 0) return {};
  const bool dims = to.dtype == DType::kDim;
  const int64_t size = dims                         ? static_cast<int64_t>(sizeof(Dim))
                       : to.dtype == DType::kString ? static_cast<int64_t>(sizeof(std::string))
                                                    : dtype_size(to.dtype);
  for (const View& from : ctx.in) {
    to.shape[i] = from.shape[i];
    copy_view(from, to);
    to.data = static_cast<std::byte*>(to.data) + from.shape[i] * to.stride[i] * size;
  }
  return {};
}

Status Concat::lower(Lowering& lowering) const {
  const auto i = static_cast<size_t>(axis);
  int main = 0;
  for (int k = 1; k < lowering.inputs(); ++k) {
    if (lowering.in(main).konst && !lowering.in(k).konst) main = k;
  }
  std::vector<int> order = Lowering::physical_order(lowering.in(main));
  if (lowering.in(main).extent(axis) == 1) {
    // Place the concatenated axis just before the later axes, within which the elements of a part
    // are contiguous. Its own stride, between the parts, decides nothing.
    std::erase(order, axis);
    const auto is_later = [&](int other) { return other > axis; };
    order.insert(find_if(order, is_later), axis);
  }
  Operand to = lowering.make_out(0, order);
  to.konst = nullptr;
  for (int k = 0; k < lowering.inputs(); ++k) {
    const Operand& from = lowering.in(k);
    to.shape[i] = from.shape[i];
    if (from.volume() > 0) lowering.copy(from, to);
    to.advance(static_cast<int>(axis), from.shape[i]);
  }
  return {};
}

Course Concat::course() const { return {.form = Course::Form::kJoined, .axes = {&axis, 1}}; }

std::vector<AxisTrack> Concat::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis) tracks.push_back({std::vector<int>(in.size(), i), {i}});
  }
  return tracks;
}

namespace {

/// The maximum number of leading elements that are compared with the formula of the later ones.
constexpr int64_t kMostLeading = 16;

/// Return the element of a list at a symbolic position, by the formula of the last part. The
/// formula must also hold for the elements of the earlier parts, as for -1 joined to 0, 1, 2, ...
std::optional<SizeRatio> continued_size(const SizeTrace& trace, int64_t before) {
  constexpr char kPlace[] = "rill_joined_place";
  const int last = trace.inputs() - 1;
  const auto each = trace.in(last, Dim::symbol(kPlace));
  if (!each || !each->is_whole() || before > kMostLeading) return std::nullopt;
  int64_t place = -before;
  for (int i = 0; i < last; ++i) {
    const int64_t count = volume(trace.in_fact(i).shape).to_int().value_or(0);
    for (int64_t at = 0; at < count; ++at, ++place) {
      const auto own = trace.in(i, Dim(at));
      const auto number = own && own->is_whole() ? own->number.to_int() : std::nullopt;
      if (!number || each->number.eval({{kPlace, place}}) != number) return std::nullopt;
    }
  }
  return trace.in(last, *trace.place() - Dim(before));
}

}  // namespace

std::optional<SizeRatio> Concat::size(const SizeTrace& trace) const {
  if (!trace.place()) return std::nullopt;
  auto at = trace.place()->to_int();
  int64_t before = 0;
  for (int i = 0; i < trace.inputs(); ++i) {
    const Fact& part = trace.in_fact(i);
    const Dim count = volume(part.shape);
    if (!(count == part.dim(static_cast<int>(axis)))) return std::nullopt;
    const auto number = count.to_int();
    if (at && number && *at < *number) return trace.in(i, Dim(*at));
    if (!number && !at && i + 1 == trace.inputs()) return continued_size(trace, before);
    if (!number) return std::nullopt;
    before += *number;
    if (at) *at -= *number;
  }
  return std::nullopt;
}

namespace {

/// The inputs [begin, end) of a concatenation, on one side of the stream.
struct Side {
  int begin = 0;
  int end = 0;
  int64_t frames = 0;
  int64_t ready = 0;  ///< the first pulse in which they are valid
  bool alike = true;  ///< all frames equal one constant frame
  TensorPtr frame;    ///< that constant frame

  bool spliced() const { return frames > 0 && !alike; }
  /// Return the frames that become constant padding of the stream: 0 if the side is spliced in.
  int64_t repeats() const { return alike ? frames : 0; }
  Tensor value() const {
    if (!frame) return {};
    return is_uniform(frame) ? first_element(*frame) : *frame;
  }
};

Result<Side> side_of(PulseBuilder& b, int axis, int begin, int end) {
  Side side;
  side.begin = begin;
  side.end = end;
  for (int i = begin; i < end; ++i) {
    const auto frames = b.in(i).dim(axis).to_int();
    if (!frames) {
      return b.refuse("Join a fixed number of frames to a stream", "input ", i, ", ", b.in(i),
                      ", is joined to a stream on its axis ", axis,
                      " and its length is not a number");
    }
    side.frames += *frames;
    side.ready = std::max(side.ready, b.await(i));
    const TensorPtr& konst = b.in(i).konst;
    side.alike &= konst != nullptr;
    for (int64_t at = 0; side.alike && at < *frames; ++at) {
      RILL_ASSIGN(Tensor one, frame_at(*konst, axis, at));
      side.alike = !side.frame || side.frame->same_bits(one);
      if (!side.frame) side.frame = std::make_shared<const Tensor>(std::move(one));
    }
  }
  return side;
}

Result<OutletId> joined(PulseBuilder& b, const Side& side, int axis, std::string_view suffix) {
  std::vector<OutletId> wires;
  for (int i = side.begin; i < side.end; ++i) wires.push_back(b.wire(i));
  if (wires.size() == 1) return wires[0];
  return b.add1(suffix, make_op<Concat>(axis), wires);
}

/// Return, for each frame of a prefix, the position from which it is valid.
std::vector<int64_t> known_from(PulseBuilder& b, const Side& prefix, int axis, int64_t pulse) {
  std::vector<int64_t> known;
  for (int i = prefix.begin; prefix.ready > 0 && i < prefix.end; ++i) {
    const int64_t frames = b.in(i).dim(axis).to_int().value_or(0);
    for (int64_t at = 0; at < frames; ++at) known.push_back(b.await_frame(i, at) * pulse);
  }
  return known;
}

/// Refuse to append a stream to a stream. If the first stream has at most 4096 frames at any
/// length, the remedy is to assert a length at which it has all of them: then their number is
/// fixed.
Status refuse_row(PulseBuilder& b, int first, int second, int64_t axis) {
  const std::string symbol(b.symbol());
  const Dim frames = b.stream(first)->dim;
  const auto most = frames.eval({{symbol, int64_t{1} << 40}});
  std::string remedy = "Concatenate along another axis";
  for (int64_t length = 1; most && *most <= 4096 && length <= (1 << 16); ++length) {
    if (frames.eval({{symbol, length}}) != most) continue;
    remedy = str_cat("Assert that a stream has the ", counted(*most, "frame"), " of input ", first,
                      ", as in --assert '", symbol, " >= ", length, "'");
    break;
  }
  return b.refuse(remedy, "inputs ", first, " and ", second, " both stream along axis ", axis,
                  ": the second would begin after the end of the first");
}

/// Return the least delay that keeps the end of the stream after its suffix frames become valid.
int64_t delay_before(const PulseBuilder& b, const Side& suffix, const StreamFact& stream,
                     int64_t pulse) {
  int64_t low = stream.delay;
  int64_t high = std::max(low, suffix.ready * pulse);  // enough even for an empty stream
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const Dim spare = stream.dim + Dim(middle) - Dim(suffix.ready * pulse);
    if (b.proves_of_taken_lengths(spare)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Add a prefix and a suffix to a stream, if their frames differ or are unknown in advance.
Result<OutletId> splice(PulseBuilder& b, OutletId wire, StreamFact* stream, const Side& prefix,
                        const Side& suffix) {
  // If the stream cannot end within its known first frames, a suffix leaves those unchanged.
  const bool ends_later = b.scope().proves_non_negative(stream->dim + Dim(stream->delay));
  if (prefix.spliced() || !ends_later) {
    RILL_ASSIGN(wire, b.materialise(wire, stream));
  }
  RILL_ASSIGN(const int64_t pulse, b.pulse_of(wire, stream->axis));
  if (suffix.spliced()) {
    RILL_ASSIGN(wire, b.hold(wire, stream));
    const int64_t delay = delay_before(b, suffix, *stream, pulse);
    RILL_ASSIGN(wire, b.delay(wire, *stream, delay - stream->delay, 0));
    stream->delay = delay;
    auto op = draft_op<PulseSplice>();
    op->axis = stream->axis;
    op->has_suffix = true;
    op->end = stream->dim + Dim(delay);
    RILL_ASSIGN(const OutletId frames, joined(b, suffix, stream->axis, "back"));
    RILL_ASSIGN(wire, b.add1("back", std::move(op), {wire, frames}));
    stream->dim += Dim(suffix.frames);
  }
  if (!prefix.spliced()) return wire;
  RILL_ASSIGN(const OutletId frames, joined(b, prefix, stream->axis, "front"));
  return b.prefix(wire, stream, frames, prefix.frames, known_from(b, prefix, stream->axis, pulse));
}

}  // namespace

Status Concat::pulsify(PulseBuilder& b) const {
  const int on = static_cast<int>(axis);
  int streaming = -1;
  for (int i = 0; i < b.inputs(); ++i) {
    const auto stream = b.stream(i);
    if (!stream) continue;
    if (stream->axis != on) return Op::pulsify(b);
    if (streaming >= 0) {
      return refuse_row(b, streaming, i, axis);
    }
    streaming = i;
  }
  if (streaming < 0) return Op::pulsify(b);
  StreamFact stream = *b.stream(streaming);
  RILL_ASSIGN(Side prefix, side_of(b, on, 0, streaming));
  RILL_ASSIGN(const Side suffix, side_of(b, on, streaming + 1, b.inputs()));
  OutletId wire = b.wire(streaming);
  b.reads_from(streaming, 1, -prefix.frames);
  // Leading frames that no one reads may have any value.
  const int64_t unread = prefix.spliced() && b.unread() >= prefix.frames ? prefix.frames : 0;
  if (unread > 0) prefix = {};
  if (prefix.spliced() || suffix.spliced()) {
    RILL_ASSIGN(wire, splice(b, wire, &stream, prefix, suffix));
  }
  RILL_ASSIGN(wire,
              extend_stream(b, wire, &stream,
                            {prefix.repeats(), prefix.value(), suffix.repeats(), suffix.value()}));
  stream.delay -= unread;
  stream.dim = b.out(0).dim(on);
  b.set(0, wire, stream);
  return {};
}

Status Concat::declutter(Rewrite& rewrite) const {
  std::vector<OutletId> kept;
  for (size_t i = 0; i < rewrite.node().inputs.size(); ++i) {
    const Fact& fact = rewrite.in(static_cast<int>(i));
    if (fact.dim(static_cast<int>(axis)) == Dim(0)) continue;
    kept.push_back(rewrite.mapped(rewrite.input(static_cast<int>(i))));
  }
  if (kept.size() == 1 || rewrite.node().inputs.size() == 1) {
    if (kept.empty()) kept.push_back(rewrite.mapped(rewrite.input(0)));
    return rewrite.replace(kept);
  }
  if (kept.empty() || kept.size() == rewrite.node().inputs.size()) return {};
  return rewrite.replace_by(clone(), kept);
}

namespace {

Result<Value> load_concat(LoadCtx& ctx) {
  RILL_ASSIGN(std::vector<OutletId> values, plain_wires(ctx, "values"));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_CHECK(!values.empty(), "expected at least 1 value, found none");
  DType dtype = ctx.fact(values[0]).dtype;
  QParams q = ctx.fact(values[0]).q;
  if (const auto quant = ctx.quant()) {
    dtype = quant->dtype;
    q = quant->q;
  }
  for (OutletId& value : values) {
    RILL_ASSIGN(value, cast_to(ctx, value, dtype, q));
  }
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(values[0]).rank()));
  return ctx.add_value(make_op<Concat>(axis), std::move(values));
}

Result<Value> load_stack(LoadCtx& ctx) {
  RILL_ASSIGN(std::vector<OutletId> values, plain_wires(ctx, "values"));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_CHECK(!values.empty(), "expected at least 1 value, found none");
  const auto quant = ctx.quant();
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(values[0]).rank() + 1));
  for (OutletId& value : values) {
    if (quant) {
      RILL_ASSIGN(value, cast_to(ctx, value, quant->dtype, quant->q));
    }
    RILL_ASSIGN(value, ctx.add1(make_op<AddAxis>(axis), {value}, "stacked"));
  }
  return ctx.add_value(make_op<Concat>(axis), std::move(values));
}

Result<Value> load_unstack(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "value"));
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, ctx.fact(x).rank()));
  RILL_ASSIGN(const int64_t count, ctx.fact(x).dim(static_cast<int>(axis)).as_int());
  // Each part becomes a node, so the limit bounds the memory that a file requests.
  RILL_CHECK(count <= 4096, "unstack into ", counted(count, "part"), ": at most 4096");
  std::vector<Value> parts;
  for (int64_t i = 0; i < count; ++i) {
    RILL_ASSIGN(const OutletId part,
                ctx.add1(make_op<Slice>(axis, Dim(i), Dim(i + 1)), {x}, "part"));
    RILL_ASSIGN(const OutletId out, ctx.add1(make_op<RmAxis>(axis), {part}));
    parts.emplace_back(out);
  }
  return Value(std::move(parts));
}

constexpr NnefOp kOps[] = {
    {"tract_nnef", "fragment concat<?>(values: tensor<?>[], axis: integer) -> (value: tensor<?>);",
     load_concat},
    {"tract_nnef", "fragment stack<?>(values: tensor<?>[], axis: integer) -> (value: tensor<?>);",
     load_stack},
    {"tract_nnef", "fragment unstack<?>(value: tensor<?>, axis: integer) -> (values: tensor<?>[]);",
     load_unstack},
};

}  // namespace

Status Concat::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule concat_module;
const OpModule concat_module = {"concat", kOps};

}  // namespace rill::ops
