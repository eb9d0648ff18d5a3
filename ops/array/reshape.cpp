#include "ops/array/reshape.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/search.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/groups.h"
#include "ops/array/nearest_upsample.h"
#include "ops/array/symbolic.h"
#include "ops/built.h"

namespace rill::ops {
namespace {

/// Find strides that show the elements of `from` in the shape of `to`; return false if there are
/// none. Both shapes are walked from the innermost axis outwards, one group of axes with equal
/// volume at a time.
bool strides_for(const Operand& from, Operand* to) {
  int i = from.rank - 1;
  int j = to->rank - 1;
  while (j >= 0) {
    while (i >= 0 && from.extent(i) == 1) --i;
    if (to->extent(j) == 1) {
      to->stride[static_cast<size_t>(j--)] = 0;
      continue;
    }
    if (i < 0) return false;
    int64_t from_volume = from.extent(i);
    int64_t to_volume = to->extent(j);
    int first = j;
    int64_t stride = from.step(i);
    int inner = i;
    while (from_volume != to_volume) {
      if (from_volume < to_volume) {
        do {
          if (--i < 0) return false;
        } while (from.extent(i) == 1);
        if (from.step(i) != from.extent(inner) * from.step(inner)) return false;
        inner = i;
        from_volume *= from.extent(i);
      } else {
        if (--first < 0) return false;
        to_volume *= to->extent(first);
      }
    }
    for (; j >= first; --j) {
      to->stride[static_cast<size_t>(j)] = stride;
      stride *= to->extent(j);
    }
    --i;
  }
  return true;
}

std::vector<Dim> replaced(const Reshape& op, std::span<const Dim> shape) {
  std::vector<Dim> out(shape.begin(), shape.begin() + op.axis);
  out.insert(out.end(), op.to.begin(), op.to.end());
  out.insert(out.end(), shape.begin() + op.axis + op.count, shape.end());
  return out;
}

/// Return whether the volume is known, and is not divisible by the product of the known extents.
bool never_divides(std::span<const Dim> shape, const Dim& volume_of) {
  const auto known = volume_of.to_int();
  if (!known) return false;
  int64_t product = 1;
  for (const Dim& dim : shape) {
    const auto extent = dim.to_int();
    if (extent && __builtin_mul_overflow(product, *extent, &product)) return false;
  }
  return product != 0 && *known % product != 0;
}

}  // namespace

Result<Facts> Reshape::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && count >= 0 && axis <= in[0].rank() && count <= in[0].rank() - axis, "no ",
             counted(count, "axis", "axes"), " from ", axis, " on in ", in[0]);
  Fact out = in[0].without_value();
  out.shape = replaced(*this, in[0].shape);
  const Dim before = volume(in[0].shape);
  const Dim after = volume(out.shape);
  const auto difference = (after - before).to_int();
  const bool differ = difference
                          ? *difference != 0
                          : never_divides(in[0].shape, after) || never_divides(out.shape, before);
  RILL_CHECK(!differ, "can not reshape ", in[0], " to ", out, ": the volumes are ", before, " and ",
             after);
  return one_fact(std::move(out));
}

Status Reshape::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  const int64_t count_elements = out.volume();
  if (count_elements != x.volume()) {
    return fail(Code::kShape, "can not reshape ", counted(x.volume(), "element"), " to ",
                count_elements);
  }
  visit_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    Walker source(x);
    Walker target(out);
    for (int64_t n = 0; n < count_elements; ++n, source.next(), target.next()) {
      out.as<T>()[target.offset()] = x.as<const T>()[source.offset()];
    }
  });
  return {};
}

Status Reshape::lower(Lowering& lowering) const {
  const Operand& x = lowering.in(0);
  const Operand shape = lowering.out_shape(0);
  RILL_CHECK(x.volume() == shape.volume(), "can not reshape ", counted(x.volume(), "element"),
             " to ", shape.volume());
  Operand view = x;
  view.konst = nullptr;
  view.rank = shape.rank;
  view.shape = shape.shape;
  view.stride = {};
  if (x.volume() == 0 || strides_for(x, &view)) {
    lowering.set_out(0, std::move(view));
    return {};
  }
  const Operand out = lowering.make_out(0);
  Operand target = x;
  target.konst = nullptr;
  target.ref = out.ref;
  target.stride = {};
  if (strides_for(out, &target)) {
    lowering.copy(x, target);
    return {};
  }
  // The output lies in a ring with gaps: copy the elements into order first.
  const Operand ordered = lowering.row_major(x);
  Operand from = out;
  from.ref = ordered.ref;
  from.stride = {};
  RILL_ASSERT(strides_for(ordered, &from));
  strides_for(ordered, &from);
  lowering.copy(from, out);
  return {};
}

namespace {

/// Return the axis of a range that is the only one, or the only one with an extent other than 1; -1
/// if there are several.
int only_axis(const std::vector<Dim>& shape, int begin, int end) {
  if (end - begin == 1) return begin;
  int found = -1;
  for (int axis = begin; axis < end; ++axis) {
    if (shape[static_cast<size_t>(axis)] == Dim(1)) continue;
    if (found >= 0) return -1;
    found = axis;
  }
  return found;
}

}  // namespace

std::vector<AxisTrack> Reshape::axes(FactSpan in, FactSpan out) const {
  std::vector<AxisTrack> tracks;
  for (const AxisGroup& group : axis_groups(in[0].shape, out[0].shape)) {
    const int from = only_axis(in[0].shape, group.from_begin, group.from_end);
    const int to_axis = only_axis(out[0].shape, group.to_begin, group.to_end);
    if (from >= 0 && to_axis >= 0) tracks.push_back({{from}, {to_axis}});
  }
  return tracks;
}

namespace {

/// The streaming axis within its group, and the number of elements of a frame after it on both
/// sides.
struct StreamSplit {
  int to_axis = -1;
  int64_t from_inner = 1;
  int64_t to_inner = 1;
};

/// Refuse a reshape between a symbolic extent and a fixed number of elements: only one length of
/// stream has that number.
Status refuse_counted(const PulseBuilder& b, const Fact& open, const Fact& counted) {
  const auto elements = volume(counted.shape).to_int();
  const auto length = elements ? solve(volume(open.shape), *elements, {}) : std::nullopt;
  const std::string frames = length && length->first == b.symbol() && length->second > 0
                                 ? str_cat(length->second, " frames")
                                 : std::string("one length of stream");
  return b.refuse("Export it with a dynamic axis, and take sizes from the shape of the input",
                  "the file was written for ", frames, ": ", b.in(0), " becomes ", b.out(0));
}

Result<StreamSplit> split_of(const PulseBuilder& b, const StreamFact& stream) {
  const Fact& in = b.in(0);
  const Fact& out = b.out(0);
  const auto inner_of = [&](const Fact& fact, int begin, int end, int axis,
                            int64_t* inner) -> Status {
    for (int i = begin; i < end; ++i) {
      if (i == axis) continue;
      const auto extent = fact.dim(i).to_int();
      if (!extent && !fact.dim(i).mentions(b.symbol())) {
        return b.refuse(
            str_cat("Bind ", fact.dim(i), " before the pulse, as in --set ", fact.dim(i), "=1"),
            "axis ", i, " of ", fact, ", extent ", fact.dim(i),
            ", is merged with, or split from, streaming axis ", axis);
      }
      if (!extent || (i < axis && *extent != 1)) {
        return b.refuse("Transpose the merged axis to a place after the streaming axis", "axis ", i,
                        " of ", fact, ", extent ", fact.dim(i),
                        ", is merged with, or split from, the later streaming axis ", axis);
      }
      *inner *= *extent;
    }
    return {};
  };
  for (const AxisGroup& group : axis_groups(in.shape, out.shape)) {
    if (stream.axis < group.from_begin || stream.axis >= group.from_end) continue;
    StreamSplit split;
    for (int i = group.to_begin; i < group.to_end; ++i) {
      if (!out.dim(i).mentions(b.symbol())) continue;
      if (split.to_axis >= 0) {
        return b.refuse("Give the frames one axis", "two axes of the output, ", out,
                        ", mention the stream symbol");
      }
      split.to_axis = i;
    }
    if (split.to_axis < 0) break;
    RILL_TRY(inner_of(in, group.from_begin, group.from_end, stream.axis, &split.from_inner));
    RILL_TRY(inner_of(out, group.to_begin, group.to_end, split.to_axis, &split.to_inner));
    if (split.from_inner > 0 && split.to_inner > 0) return split;
  }
  if (!out.mentions(b.symbol())) return refuse_counted(b, in, out);
  return b.refuse("Write the extents so that the streaming axis can be followed", "streaming axis ",
                  stream.axis, " of ", in, " is lost in ", out);
}

}  // namespace

Status Reshape::pulsify(PulseBuilder& b) const {
  if (b.scores()) {
    const int rank = b.fact(b.wire(0)).rank();
    RILL_ASSIGN(const OutletId out,
                b.add1(make_op<Reshape>(0, rank, b.pulsed_shape()), {b.wire(0)}));
    b.set(0, out, b.stream(0));
    return {};
  }
  const auto found = b.stream(0);
  if (!found) return refuse_counted(b, b.out(0), b.in(0));
  StreamFact stream = *found;
  RILL_ASSIGN(const StreamSplit split, split_of(b, stream));
  OutletId wire = b.wire(0);
  const bool regular_prefix =
      !stream.has_prefix() || !stream.pad_value || stream.pad_value->rank() == 0;
  const auto aligned = [&] { return stream.delay * split.from_inner % split.to_inner == 0; };
  if (!regular_prefix || (stream.has_prefix() && !aligned())) {
    RILL_ASSIGN(wire, b.materialise(wire, &stream));
  }
  int64_t wait = 0;
  while (!aligned()) {
    ++stream.delay;
    ++wait;
  }
  if (wait > 0) {
    RILL_ASSIGN(wire, b.delay(wire, *found, wait, 0));
  }
  RILL_ASSIGN(const int64_t pulse, b.pulse_of(wire, stream.axis));
  const int64_t elements = pulse * split.from_inner;
  if (elements % split.to_inner != 0) {
    return b.refuse_pulse(elements, split.to_inner, "a pulse of ", counted(pulse, "frame"), " of ",
                          split.from_inner, " does not fill frames of ", split.to_inner);
  }
  const Fact now = b.fact(wire);
  std::vector<Dim> shape = b.pulsed_shape();
  shape[static_cast<size_t>(split.to_axis)] = Dim(elements / split.to_inner);
  RILL_ASSIGN(const OutletId out,
              b.add1(make_op<Reshape>(0, now.rank(), std::move(shape)), {wire}));
  stream.delay = stream.delay * split.from_inner / split.to_inner;
  stream.axis = split.to_axis;
  stream.dim = b.out(0).dim(split.to_axis);
  b.set(0, out, stream);
  return {};
}

namespace {

/// Return the input whose elements the output maps one by one, in order: the only input, or the
/// input that is combined with a single number. -1 if there is none.
int carried_input(const Node& node, const Graph& graph) {
  const Facts in = graph.facts_of(node.inputs);
  const auto tracks = node.op->axes(in, node.outputs);
  const size_t rank = node.outputs[0].shape.size();
  if (node.outputs.size() != 1 || rank == 0 || tracks.size() != rank) return -1;
  int carried = -1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (in[i].konst && in[i].konst->volume() == 1) continue;
    if (carried >= 0 || !(in[i].shape == node.outputs[0].shape)) return -1;
    carried = static_cast<int>(i);
  }
  if (carried < 0) return -1;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int at = static_cast<int>(axis);
    const bool same = any_of(tracks, [&](const AxisTrack& track) {
      return track.out[0] == at && track.in[static_cast<size_t>(carried)] == at;
    });
    if (!same) return -1;
  }
  return carried;
}

/// Return whether a node also works on `shape`, so that it depends on no particular axes.
bool suits(const Node& node, const Graph& graph, int carried, const std::vector<Dim>& shape) {
  Facts in;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    in.push_back(graph.fact(node.inputs[i]).without_value());
    const std::vector<Dim> number(shape.size(), Dim(1));
    in.back().shape = static_cast<int>(i) == carried ? shape : number;
  }
  const auto out = node.op->infer(in);
  return out.ok() && out->size() == 1 && (*out)[0].shape == shape;
}

/// Drop a reshape and its inverse around elementwise operations with single numbers.
Status undo_around(Rewrite& rewrite) {
  constexpr size_t kLongest = 16;
  const Graph& graph = rewrite.old_graph();
  std::vector<std::pair<const Node*, int>> between;
  OutletId at = rewrite.input(0);
  while (between.size() < kLongest && at.slot == 0 && rewrite.uses(at) == 1) {
    const Node& node = graph.node(at.node);
    if (node.op->as<Reshape>()) break;
    const int carried = carried_input(node, graph);
    if (carried < 0 || !suits(node, graph, carried, rewrite.out().shape)) return {};
    between.emplace_back(&node, carried);
    at = node.inputs[static_cast<size_t>(carried)];
  }
  const Node& first = graph.node(at.node);
  if (between.empty() || !first.op->as<Reshape>()) return {};
  if (!(graph.fact(first.inputs[0]).shape == rewrite.out().shape)) return {};
  const size_t rank = rewrite.out().shape.size();
  OutletId wire = rewrite.mapped(first.inputs[0]);
  for (size_t k = between.size(); k-- > 0;) {
    const auto& [node, carried] = between[k];
    std::vector<OutletId> inputs = rewrite.mapped_inputs(*node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (static_cast<int>(i) == carried) {
        inputs[i] = wire;
        continue;
      }
      RILL_ASSIGN(Tensor number,
                  rewrite.new_fact(inputs[i]).konst->reshaped(std::vector<int64_t>(rank, 1)));
      inputs[i] = rewrite.konst(str_cat(node->name, "_number"), std::move(number));
    }
    RILL_ASSIGN(wire, rewrite.wire1(node->name, node->op, inputs));
  }
  return rewrite.replace({wire});
}

}  // namespace

Status Reshape::fuse(Rewrite& rewrite) const { return fuse_upsample(*this, rewrite); }

/// Replace a reshape that only drops unit axes by removals of axes, which other rewrites can move.
Status Reshape::drop_ones(Rewrite& rewrite) const {
  // A step may have one frame. Keep the reshape there, so that plans of all pulses have the same
  // nodes.
  if (rewrite.old_graph().streaming) return {};
  if constexpr (!built("axis_ops")) return {};
  const auto first = rewrite.in(0).shape.begin() + axis;
  const auto is_one = [](const Dim& dim) { return dim == Dim(1); };
  if (!to.empty() || count < 1 || !std::all_of(first, first + count, is_one)) return {};
  OutletId wire = rewrite.mapped(rewrite.input(0));
  for (int64_t i = 0; i < count; ++i) {
    RILL_ASSIGN(wire, rewrite.wire1(rewrite.node().name, make_op<RmAxis>(axis), {wire}));
  }
  return rewrite.replace({wire});
}

Status Reshape::declutter(Rewrite& rewrite) const {
  const Fact& in = rewrite.in(0);
  if (in.shape == rewrite.out().shape) return rewrite.bypass(rewrite.input(0));
  if (const auto* first = rewrite.producer_as<Reshape>(0)) {
    const OutletId source = rewrite.producer(0).inputs[0];
    const int rank = rewrite.old_graph().fact(source).rank();
    (void)first;
    RILL_ASSIGN(const OutletId out,
                rewrite.wire1(rewrite.node().name, make_op<Reshape>(0, rank, rewrite.out().shape),
                              {rewrite.mapped(source)}));
    return rewrite.replace({out});
  }
  RILL_TRY(undo_around(rewrite));
  if (rewrite.replacement()) return {};
  int64_t front = 0;
  int64_t back = 0;
  const auto size = static_cast<int64_t>(to.size());
  const auto extent = [&](int64_t i) { return in.dim(static_cast<int>(axis + i)); };
  while (front < std::min(size, count) && to[static_cast<size_t>(front)] == extent(front)) ++front;
  while (back < std::min(size, count) - front &&
         to[static_cast<size_t>(size - 1 - back)] == extent(count - 1 - back)) {
    ++back;
  }
  if (front + back == 0) return drop_ones(rewrite);
  std::vector<Dim> rest(to.begin() + front, to.end() - back);
  auto shorter = draft_op<Reshape>(axis + front, count - front - back, std::move(rest));
  return rewrite.replace_by(std::move(shorter), {rewrite.mapped(rewrite.input(0))});
}

namespace {

/// Return the extents for NNEF, where 0 means the input's extent and -1 the remainder. An extent
/// that is 0 is written as the remainder.
Result<std::vector<Dim>> written_extents(const Reshape& op, const Fact& in) {
  std::vector<Dim> out = op.to;
  int64_t left_over = 0, zeros = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] != Dim(0)) continue;
    ++zeros;
    const auto at = static_cast<int>(op.axis) + static_cast<int>(i);
    if (at < in.rank() && in.dim(at) == Dim(0)) continue;
    out[i] = Dim(-1);
    ++left_over;
  }
  if (left_over == 0 || zeros == 1) return out;
  return fail(Code::kUnsupported, "NNEF has no reshape of ", in, " to several extents of 0");
}

}  // namespace

Status Reshape::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  if (to.empty() && count > 0) {  // tract refuses an empty list as a shape
    const std::vector<Dim>& from = ctx.graph().fact(ctx.node().inputs[0]).shape;
    const auto first = from.begin() + axis;
    const bool ones =
        std::all_of(first, first + count, [](const Dim& dim) { return dim == Dim(1); });
    if (!ones) {
      const std::string one =
          ctx.temp("one", str_cat("reshape(", x, ", shape = [1], axis_start = ", axis,
                                  ", axis_count = ", count, ")"));
      ctx.assign(str_cat("squeeze(", one, ", axes = [", axis, "])"));
      return {};
    }
    if (ctx.graph().streaming && from.size() > static_cast<size_t>(count)) {
      // Readers keep the frames of a reshape contiguous; they do not keep a squeezed axis.
      const bool has_next = axis + count < static_cast<int64_t>(from.size());
      const Dim& neighbour =
          has_next ? from[static_cast<size_t>(axis + count)] : from[static_cast<size_t>(axis - 1)];
      ctx.assign(str_cat("reshape(", x, ", shape = ", ctx.dims(std::vector<Dim>{neighbour}),
                         ", axis_start = ", has_next ? axis : axis - 1,
                         ", axis_count = ", count + 1, ")"));
      return {};
    }
    std::vector<int64_t> axes(static_cast<size_t>(count));
    std::iota(axes.begin(), axes.end(), axis);
    ctx.assign(str_cat("squeeze(", x, ", axes = ", nnef_text(axes), ")"));
    return {};
  }
  RILL_ASSIGN(const std::vector<Dim> written,
              written_extents(*this, ctx.graph().fact(ctx.node().inputs[0])));
  ctx.assign(str_cat("reshape(", x, ", shape = ", ctx.dims(written), ", axis_start = ", axis,
                     ", axis_count = ", count, ")"));
  return {};
}

namespace {

/// Resolve the entries 0 (the input's extent) and -1 (the remainder).
Result<std::vector<Dim>> resolved(std::vector<Dim> to, const Fact& in, int64_t start,
                                 int64_t count) {
  int open = -1;
  // Extents that both shapes share cancel; this makes the remainder far easier to divide.
  std::vector<Dim> left(in.shape.begin() + start, in.shape.begin() + start + count);
  Dim others = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim(0)) {
      const int64_t at = start + static_cast<int64_t>(i);
      RILL_CHECK(at < in.rank(), "shape ", to, ": entry ", i, " is 0, but ", in, " has no axis ",
                 at);
      to[i] = in.dim(static_cast<int>(at));
    } else if (to[i] == Dim(-1)) {
      RILL_CHECK(open < 0, "shape ", to, ": at most one entry may be -1");
      open = static_cast<int>(i);
      continue;
    }
    const auto same = find(left, to[i]);
    if (same != left.end() && !same->is_const()) {
      left.erase(same);
    } else {
      others *= to[i];
    }
  }
  if (open < 0) return to;
  const Dim total = volume(left);
  auto rest = exact_div(total, others);
  const auto divisor = others.to_int();
  if (!rest && divisor && *divisor > 0 && !total.is_const()) rest = floor_div(total, *divisor);
  RILL_CHECK(rest.has_value(), "shape ", to, ": can not divide ", total, " elements of ", in,
             " by ", others);
  to[static_cast<size_t>(open)] = *rest;
  return to;
}

Result<Value> load_reshape(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::vector<Dim> to, computed_dims(ctx, "shape"));
  RILL_ASSIGN(const int64_t written_start, ctx.integer("axis_start"));
  RILL_ASSIGN(int64_t count, ctx.integer("axis_count"));
  const Fact& in = ctx.fact(x);
  const int64_t rank = in.rank();
  const int64_t start = written_start < 0 ? written_start + rank : written_start;
  RILL_CHECK(start >= 0 && start <= rank, "axis_start = ", written_start, ": no such axis in ", in);
  if (count < 0) count = rank - start;
  RILL_CHECK(count <= rank - start, "axis_count = ", count, ": ", in, " has ", rank - start,
             " axes from ", start, " on");
  RILL_ASSIGN(to, resolved(std::move(to), in, start, count));
  return ctx.add_value(make_op<Reshape>(start, count, std::move(to)), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment reshape<?>(input: tensor<?>, shape: integer[], axis_start: integer = 0,"
     " axis_count: integer = -1) -> (output: tensor<?>);",
     load_reshape},
};

// Fusing turns some reshapes into upsamplings, which only plans contain.
constexpr OpClass kClasses[] = {op_class<NearestUpsample>("NearestUpsample")};

}  // namespace

extern const OpModule reshape_module;
const OpModule reshape_module = {"reshape", kOps, kClasses};

}  // namespace rill::ops
