#include "ops/array/broadcast.h"

#include "core/base/search.h"
#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/graph/size_trace.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

/// Return the view with unit axes prepended, and with stride 0 on axes that are broadcast.
template <class T>
T repeated(const T& from, const T& out) {
  T view = from;
  const int added = out.rank - from.rank;
  view.rank = out.rank;
  view.shape = out.shape;
  for (int axis = 0; axis < out.rank; ++axis) {
    const int source = axis - added;
    const bool repeats = source < 0 || from.extent(source) == 1;
    view.stride[static_cast<size_t>(axis)] = repeats ? 0 : from.step(source);
  }
  return view;
}

Status refuse_table(const PulseBuilder& b) {
  return b.refuse("Let the consumer repeat it: elementwise operators do, for extents of 1",
                  "a value that does not stream is repeated to ", b.out(0),
                  ", which depends on the length of the stream");
}

/// Stream a static value: it is the same in all frames.
Status pulsify_static(PulseBuilder& b, const Broadcast& op) {
  int axis = -1;
  for (int i = 0; i < b.out(0).rank(); ++i) {
    if (!b.out(0).dim(i).mentions(b.symbol())) continue;
    if (axis >= 0 || b.await(0) > 0) return refuse_table(b);
    axis = i;
  }
  if (axis < 0) {
    // No output axis depends on the stream any more: the shape was simplified, as min(S, 1) is for
    // streams with at least one frame.
    if (b.await(0) > 0) return refuse_table(b);
    RILL_ASSIGN(const OutletId out, b.add1(make_op<Broadcast>(b.out(0).shape), {b.wire(0)}));
    b.set(0, out, std::nullopt);
    return {};
  }
  const Dim frames = b.out(0).dim(axis);
  std::vector<Dim> pulsed;
  for (const Dim& extent : op.shape) pulsed.push_back(b.pulsed(extent));
  RILL_ASSIGN(const int64_t pulse, b.frames_per_pulse(frames));
  pulsed[static_cast<size_t>(axis)] = Dim(pulse);
  RILL_ASSIGN(const OutletId out, b.add1(make_op<Broadcast>(std::move(pulsed)), {b.wire(0)}));
  TensorPtr frame;
  // The length of the stream is known only at its end, so a value with symbols is not a constant
  // frame.
  const TensorPtr& konst = b.in(0).konst;
  if (konst && (konst->dtype() != DType::kDim || cast(*konst, DType::kI64).ok())) {
    // Prepend unit axes up to the rank of the output.
    std::vector<int64_t> shape(static_cast<size_t>(b.out(0).rank() - konst->rank()), 1);
    shape.insert(shape.end(), konst->shape().begin(), konst->shape().end());
    RILL_ASSIGN(Tensor ranked, konst->reshaped(shape));
    frame = std::make_shared<const Tensor>(std::move(ranked));
  }
  const StreamFact stream{axis, frames, 0, nullptr};
  return b.give(0, out, {PulsedOutput::Steady{stream, std::move(frame)}});
}

}  // namespace

Result<Facts> Broadcast::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  const int added = static_cast<int>(shape.size()) - in[0].rank();
  RILL_CHECK(added >= 0, "can not broadcast ", in[0], " to ", shape);
  Fact out = in[0].without_value();
  out.shape = shape;
  for (int axis = 0; axis < in[0].rank(); ++axis) {
    Dim& extent = out.shape[static_cast<size_t>(axis + added)];
    extent = broadcast(in[0].dim(axis), extent);
    RILL_CHECK(extent.valid(), "can not broadcast ", in[0], " to ", shape);
  }
  return one_fact(std::move(out));
}

Status Broadcast::eval(EvalCtx& ctx) const {
  copy_view(repeated(ctx.in[0], ctx.out[0]), ctx.out[0]);
  return {};
}

Status Broadcast::lower(Lowering& lowering) const {
  Operand out = repeated(lowering.in(0), lowering.out_shape(0));
  out.konst = nullptr;
  lowering.set_out(0, std::move(out));
  return {};
}

Course Broadcast::course() const { return {.form = Course::Form::kMoved}; }

std::vector<AxisTrack> Broadcast::axes(FactSpan in, FactSpan out) const {
  std::vector<AxisTrack> tracks;
  const int added = out[0].rank() - in[0].rank();
  for (int axis = 0; axis < out[0].rank(); ++axis) {
    const bool kept = axis >= added && in[0].dim(axis - added) == out[0].dim(axis);
    tracks.push_back({{kept ? axis - added : -1}, {axis}});
  }
  return tracks;
}

/// A single element is the same everywhere. Several elements stay in order if none is repeated.
std::optional<SizeRatio> Broadcast::size(const SizeTrace& trace) const { return trace.in(0); }

Status Broadcast::pulsify(PulseBuilder& b) const {
  if (b.scores()) {
    RILL_ASSIGN(const OutletId out, b.add1(make_op<Broadcast>(b.pulsed_shape()), {b.wire(0)}));
    b.set(0, out, b.stream(0));
    return {};
  }
  const auto found = b.stream(0);
  if (!found) return pulsify_static(b, *this);
  const int added = b.out(0).rank() - b.in(0).rank();
  StreamFact stream = *found;
  stream.axis += added;
  if (!(b.in(0).dim(found->axis) == b.out(0).dim(stream.axis))) return Op::pulsify(b);
  for (int axis = 0; axis < b.out(0).rank(); ++axis) {
    if (axis == stream.axis || !b.out(0).dim(axis).mentions(b.symbol())) continue;
    return b.refuse("Let the consumer repeat it: elementwise operators do, for extents of 1",
                    "frames are repeated to ", b.out(0), ", in which axis ", axis,
                    " depends on the length of the stream as well");
  }
  b.reads_from(0, 1, 0);
  std::vector<Dim> pulsed;
  for (const Dim& extent : shape) pulsed.push_back(b.pulsed(extent));
  pulsed[static_cast<size_t>(stream.axis)] = Dim(1);  // keeps the extent of the pulse
  OutletId wire = b.wire(0);
  // Broadcasting changes the shape of the prefix frames.
  if (stream.has_prefix() && stream.pad_value && stream.pad_value->rank() > 0) {
    StreamFact real = *found;
    RILL_ASSIGN(wire, b.materialise(wire, &real));
    stream.delay = real.delay;
    stream.pad_value = real.pad_value;
  }
  RILL_ASSIGN(const OutletId out, b.add1(make_op<Broadcast>(std::move(pulsed)), {wire}));
  stream.dim = b.out(0).dim(stream.axis);
  b.set(0, out, stream);
  return {};
}

namespace {

/// As `is_repeated`; `budget` bounds the number of visited nodes.
bool is_repeated_within(const Graph& graph, OutletId outlet, int axis, int* budget) {
  const Node& node = graph.node(outlet.node);
  if (node.inputs.empty() || --*budget < 0) return false;
  const Facts in = graph.facts_of(node.inputs);
  for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
    if (track.out[static_cast<size_t>(outlet.slot)] != axis) continue;
    bool repeated = true;
    for (size_t k = 0; k < node.inputs.size() && repeated; ++k) {
      const int from = track.in[k];
      repeated = from < 0 || is_repeated_within(graph, node.inputs[k], from, budget);
    }
    return repeated;
  }
  return false;
}

}  // namespace

std::optional<OutletId> repeated_wire(const Graph& graph, OutletId outlet) {
  const Node& node = graph.node(outlet.node);
  return node.op->as<Broadcast>() ? std::optional(node.inputs[0]) : std::nullopt;
}

bool is_repeated(const Graph& graph, OutletId outlet, int axis) {
  int budget = 64;
  return is_repeated_within(graph, outlet, axis, &budget);
}

Status Broadcast::declutter(Rewrite& rewrite) const {
  if (rewrite.in(0).shape == rewrite.out().shape) return rewrite.bypass(rewrite.input(0));
  return {};
}

/// Remove the broadcast before an elementwise consumer, which broadcasts the input itself, if
/// another input has the whole shape.
Status Broadcast::absorb(const Node& producer, Rewrite& consumer, int input) const {
  const Node& node = consumer.node();
  if (consumer.fusing() || node.inputs.size() < 2 ||
      !node.op->course().is(Course::Form::kPerElement)) {
    return {};
  }
  const Fact& source = consumer.old_graph().fact(producer.inputs[0]);
  if (source.rank() != producer.outputs[0].rank()) return {};
  Facts facts;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    facts.push_back(consumer.in(static_cast<int>(i)));
  }
  facts[static_cast<size_t>(input)] = source;
  RILL_ASSIGN(const Facts shorter, node.op->infer(facts));
  if (shorter[0].shape != node.outputs[0].shape) return {};
  std::vector<OutletId> inputs = consumer.mapped_inputs(node);
  inputs[static_cast<size_t>(input)] = consumer.mapped(producer.inputs[0]);
  return consumer.replace_by(node.op, inputs);
}

Result<Facts> Tile::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(static_cast<int>(repeats.size()) == in[0].rank(), "repeats ", repeats, ": expected ",
             in[0].rank(), " for ", in[0]);
  Fact out = in[0].without_value();
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    const auto times = repeats[axis].to_int();
    RILL_CHECK(!times || *times >= 0, "repeats ", repeats, ": expected 0 or more");
    out.shape[axis] *= repeats[axis];
  }
  return one_fact(std::move(out));
}

Status Tile::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  visit_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    Walker to(out);
    for (int64_t n = out.volume(); n > 0; --n, to.next()) {
      int64_t from = 0;
      for (int axis = 0; axis < x.rank; ++axis) {
        from += to.index()[static_cast<size_t>(axis)] % x.extent(axis) * x.step(axis);
      }
      out.as<T>()[to.offset()] = x.as<const T>()[from];
    }
  });
  return {};
}

Status Tile::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  const Operand shape = lowering.out_shape(0);
  int split = 0;
  for (int axis = 0; axis < x.rank; ++axis) split += x.extent(axis) != shape.extent(axis) ? 1 : 0;
  if (x.rank + split > kMaxRank || shape.volume() == 0) return Op::lower(lowering);
  // Split each repeated axis in two: then the input broadcasts to the output.
  const Operand out = lowering.make_out(0, Lowering::physical_order(x));
  Operand from = x;
  Operand to = out;
  from.konst = nullptr;
  from.rank = 0;
  const auto add = [&](int64_t extent, int64_t from_step, int64_t to_step) {
    const auto axis = static_cast<size_t>(from.rank++);
    from.shape[axis] = to.shape[axis] = extent;
    from.stride[axis] = from_step;
    to.stride[axis] = to_step;
  };
  for (int axis = 0; axis < x.rank; ++axis) {
    const int64_t extent = x.extent(axis);
    const int64_t times = shape.extent(axis) / extent;
    if (times != 1) add(times, 0, out.step(axis) * extent);
    add(extent, x.step(axis), out.step(axis));
  }
  to.rank = from.rank;
  lowering.copy(from, to);
  return {};
}

Course Tile::course() const { return {.form = Course::Form::kRepeated}; }

std::vector<AxisTrack> Tile::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int axis = 0; axis < in[0].rank(); ++axis) {
    if (repeats[static_cast<size_t>(axis)] == Dim(1)) tracks.push_back({{axis}, {axis}});
  }
  return tracks;
}

Status Tile::pulsify(PulseBuilder& b) const {
  if (b.scores()) return Op::pulsify(b);
  const auto stream = b.stream(0);
  if (!stream) return refuse_table(b);
  const bool grows = any_of(repeats, [&](const Dim& times) { return times.mentions(b.symbol()); });
  if (grows) return refuse_table(b);
  if (!(repeats[static_cast<size_t>(stream->axis)] == Dim(1))) {
    return b.refuse("Repeat each frame instead, or another axis", "streaming axis ", stream->axis,
                    " is repeated as a whole, ", repeats[static_cast<size_t>(stream->axis)],
                    " times");
  }
  return Op::pulsify(b);
}

Status Tile::declutter(Rewrite& rewrite) const {
  const Fact& in = rewrite.in(0);
  if (in.shape == rewrite.out().shape) return rewrite.bypass(rewrite.input(0));
  for (int axis = 0; axis < in.rank(); ++axis) {
    const bool plain = repeats[static_cast<size_t>(axis)] == Dim(1) || in.dim(axis) == Dim(1);
    if (!plain) return {};
  }
  return rewrite.replace_by(make_op<Broadcast>(rewrite.out().shape),
                            {rewrite.mapped(rewrite.input(0))});
}

namespace {

Result<Value> load_broadcast(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::vector<Dim> shape, computed_dims(ctx, "shape"));
  return ctx.add_value(make_op<Broadcast>(std::move(shape)), {x});
}

Result<Value> load_tile(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::vector<Dim> repeats, computed_dims(ctx, "repeats"));
  return ctx.add_value(make_op<Tile>(std::move(repeats)), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_broadcast(input: tensor<?>, shape: integer[]) -> (output: tensor<?>);",
     load_broadcast},
    {"tract_nnef", "fragment tile<?>(input: tensor<?>, repeats: integer[]) -> (output: tensor<?>);",
     load_tile},
};

constexpr OpClass kClasses[] = {op_class<Broadcast>("Broadcast"), op_class<Tile>("Tile")};

}  // namespace

Status Broadcast::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

Status Tile::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[1]); }

extern const OpModule broadcast_module;
const OpModule broadcast_module = {"broadcast", kOps, kClasses};

}  // namespace rill::ops
