#include "ops/array/gather.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/exec/index_checks.h"
#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "core/tensor/uniform.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/elements.h"
#include "ops/array/gather_step.h"
#include "ops/array/gather_walk.h"
#include "ops/array/indices.h"
#include "ops/array/slice.h"
#include "ops/built.h"

namespace rill::ops {

Result<Facts> Gather::infer(FactSpan in) const {
  RILL_CHECK(in.size() == 2, "expected 2 inputs, found ", in.size());
  RILL_TRY(expect_inputs(in.subspan(1), 1));
  const Fact& data = in[0];
  const Fact& indices = in[1];
  RILL_CHECK(axis >= 0 && axis < data.rank(), "no axis ", axis, " in ", data);
  RILL_TRY(check_indices(indices, data.dim(static_cast<int>(axis))));
  Fact out = data.without_value();
  out.shape.erase(out.shape.begin() + axis);
  out.shape.insert(out.shape.begin() + axis, indices.shape.begin(), indices.shape.end());
  return one_fact(std::move(out));
}

void Gather::demands(FactSpan in, std::vector<Dim>* non_negative) const {
  demand_indices(in[1], in[0].dim(static_cast<int>(axis)), non_negative);
}

std::optional<NumberRange> Gather::indices(int input, FactSpan in) const {
  return input == 1 ? indices_of(in[0].dim(static_cast<int>(axis))) : std::nullopt;
}

Status Gather::eval(EvalCtx& ctx) const {
  const View& data = ctx.in[0];
  const View& indices = ctx.in[1];
  const View& out = ctx.out[0];
  RILL_TRY(known_indices(indices));
  if (out.volume() == 0) return {};
  if (is_plain(data.dtype) && is_int(indices.dtype)) {
    gather_elements(data, indices, static_cast<int>(axis), out);
    return {};
  }
  const auto visit = [](DType dtype, auto&& copy) { visit_size(dtype, copy); };
  gather_along(data, indices, static_cast<int>(axis), out, visit, index_at);
  return {};
}

Status Gather::lower(Lowering& lowering) const {
  const TensorPtr data = lowering.stored_in(0).konst;
  const bool blocks = data && data->block_format() != BlockFormat::kNone;
  BlockArgs args;
  for (int i = 0; blocks && i < data->rank(); ++i) {
    const int64_t extent = data->extent(i);
    if (i < axis) args.outer *= extent;
    if (i == axis) args.extent = extent;
    if (i == axis) args.blocks = 1;
    if (i > axis) args.blocks *= extent;
  }
  if (!blocks || args.blocks == 0 || args.blocks % 32 != 0) {
    if (blocks || !is_plain(lowering.in(0).dtype)) return Op::lower(lowering);
    const Operand& from = lowering.in(0);
    const Operand& indices = lowering.in(1);
    const Operand out = lowering.make_out(0);
    lowering.step(kGather, {from, indices, out, static_cast<int>(axis)}, {from, indices}, {out});
    return {};
  }
  args.blocks /= 32;
  args.format = data->block_format();
  args.data = lowering.stored_in(0).ref;
  const Operand indices = lowering.row_major(lowering.in(1));
  args.indices = indices.ref;
  args.index_type = indices.dtype;
  args.count = indices.volume();
  const Operand out = lowering.make_out(0);
  args.out = out.ref;
  lowering.step(kGatherBlocks, args, {args.data, indices}, {out});
  return {};
}

std::vector<AxisTrack> Gather::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  const int on = static_cast<int>(axis);
  for (int i = 0; i < in[1].rank(); ++i) tracks.push_back({{-1, i}, {on + i}});
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i == on) continue;
    tracks.push_back({{i, -1}, {i < on ? i : i - 1 + in[1].rank()}});
  }
  return tracks;
}

Status Gather::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string data, ctx.in(0));
  RILL_ASSIGN(const std::string indices, ctx.in(1));
  ctx.need_registry("tract_core");
  // tract requires a name for the output of block-quantised data.
  const bool blocks = blocks_of(ctx.graph().fact(ctx.node().inputs[0])) != nullptr;
  ctx.assign(str_cat("tract_core_gather(", data, ", ", indices, ", axis = ", axis,
                     blocks ? ", datum_type = \"f32\")" : ")"));
  return {};
}

Result<Facts> GatherElements::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 2));
  const Fact& data = in[0];
  const Fact& indices = in[1];
  RILL_CHECK(axis >= 0 && axis < data.rank(), "no axis ", axis, " in ", data);
  RILL_CHECK(indices.rank() == data.rank(), "expected inputs of one rank, found ", data, " and ",
             indices);
  for (int i = 0; i < data.rank(); ++i) {
    const auto spare = (data.dim(i) - indices.dim(i)).to_int();
    RILL_CHECK(i == axis || !spare || *spare >= 0, "extents of axis ", i, ": ", data, " and ",
               indices);
  }
  RILL_TRY(check_indices(indices, data.dim(static_cast<int>(axis))));
  Fact out = data.without_value();
  out.shape = indices.shape;
  return one_fact(std::move(out));
}

void GatherElements::demands(FactSpan in, std::vector<Dim>* non_negative) const {
  demand_indices(in[1], in[0].dim(static_cast<int>(axis)), non_negative);
}

std::optional<NumberRange> GatherElements::indices(int input, FactSpan in) const {
  return input == 1 ? indices_of(in[0].dim(static_cast<int>(axis))) : std::nullopt;
}

Status GatherElements::eval(EvalCtx& ctx) const {
  const View& data = ctx.in[0];
  const View& indices = ctx.in[1];
  const View& out = ctx.out[0];
  RILL_TRY(known_indices(indices));
  const auto on = static_cast<size_t>(axis);
  View base = data;
  base.stride[on] = 0;
  visit_size(data.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<3>({indices, base, out}, [&](const std::array<int64_t, 3>& at) {
      const int64_t index = wrapped_index(index_at(indices, at[0]), data.shape[on]);
      out.as<T>()[at[2]] = index < 0 ? T{} : data.as<const T>()[at[1] + index * data.stride[on]];
    });
  });
  return {};
}

std::vector<AxisTrack> GatherElements::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i < in[0].rank(); ++i) {
    if (i != axis && in[0].dim(i) == in[1].dim(i)) tracks.push_back({{i, i}, {i}});
  }
  return tracks;
}

Result<Facts> GatherNd::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 2));
  const Fact& data = in[0];
  const Fact& indices = in[1];
  RILL_CHECK(batch_dims >= 0 && batch_dims < indices.rank() && batch_dims <= data.rank(), "no ",
             batch_dims, " batch axes in ", data, " and ", indices);
  RILL_TRY(check_indices(indices.without_value(), Dim(0)));
  RILL_ASSIGN(const int64_t depth, indices.shape.back().as_int());
  RILL_CHECK(depth >= 0 && depth <= data.rank() - batch_dims, "indices of ",
             counted(depth, "axis", "axes"), ": ", data, " has ", data.rank() - batch_dims);
  Fact out = data.without_value();
  out.shape.assign(indices.shape.begin(), indices.shape.end() - 1);
  for (int64_t i = 0; i < batch_dims; ++i) {
    const auto difference =
        (data.dim(static_cast<int>(i)) - indices.dim(static_cast<int>(i))).to_int();
    RILL_CHECK(!difference || *difference == 0, "batch axis ", i, " differs: ", data, " and ",
               indices);
  }
  out.shape.insert(out.shape.end(), data.shape.begin() + batch_dims + depth, data.shape.end());
  return one_fact(std::move(out));
}

std::optional<NumberRange> GatherNd::indices(int input, FactSpan in) const {
  const auto depth = in[1].shape.back().to_int();
  return input == 1 && depth ? indices_of_axes(in[0], batch_dims, *depth) : std::nullopt;
}

Status GatherNd::eval(EvalCtx& ctx) const {
  const View& data = ctx.in[0];
  const View& indices = ctx.in[1];
  const View& out = ctx.out[0];
  RILL_TRY(known_indices(indices));
  const int places = indices.rank - 1;
  const auto depth = static_cast<int>(indices.extent(places));
  const int first = static_cast<int>(batch_dims);
  View index_places = indices;
  View base = indices;
  View to_places = indices;
  index_places.rank = base.rank = to_places.rank = places;
  for (int i = 0; i < places; ++i) {
    base.stride[static_cast<size_t>(i)] = i < first ? data.step(i) : 0;
    to_places.stride[static_cast<size_t>(i)] = out.step(i);
  }
  View slice = data;
  View to_slice = data;
  slice.rank = to_slice.rank = data.rank - first - depth;
  for (int i = 0; i < slice.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    slice.shape[at] = to_slice.shape[at] = data.extent(first + depth + i);
    slice.stride[at] = data.step(first + depth + i);
    to_slice.stride[at] = out.step(places + i);
  }
  visit_size(data.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<3>({index_places, base, to_places}, [&](const std::array<int64_t, 3>& place) {
      const T* from = data.as<const T>() + place[1];
      bool inside = true;
      for (int k = 0; k < depth; ++k) {
        const int64_t raw = index_at(indices, place[0] + k * indices.step(places));
        const int64_t index = wrapped_index(raw, data.extent(first + k));
        inside &= index >= 0;
        if (inside) from += index * data.step(first + k);
      }
      T* to = out.as<T>() + place[2];
      for_each_element<2>({slice, to_slice}, [&](const std::array<int64_t, 2>& at) {
        to[at[1]] = inside ? from[at[0]] : T{};
      });
    });
  });
  return {};
}

Status GatherNd::lower(Lowering& lowering) const {
  const Operand& indices = lowering.in(1);
  const auto depth = static_cast<int>(indices.extent(indices.rank - 1));
  check_index_lists(lowering, 1, static_cast<int>(batch_dims), depth);
  return Op::lower(lowering);
}

std::vector<AxisTrack> GatherNd::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int i = 0; i + 1 < in[1].rank(); ++i) tracks.push_back({{i < batch_dims ? i : -1, i}, {i}});
  return tracks;
}

namespace {

/// Return whether all elements of a wire are 0.
bool is_zero(const Graph& graph, OutletId wire) {
  const Fact& fact = graph.fact(repeated_wire(graph, wire).value_or(wire));
  return uniform_number(fact.konst) == 0.0;
}

}  // namespace

/// If all indices into an axis are 0, only its first element is read.
Status GatherNd::drop_zeros(Rewrite& rewrite) const {
  const Graph& graph = rewrite.old_graph();
  const Node& join = rewrite.producer(1);
  const Course joined = join.op->course();
  const int last = rewrite.in(1).rank() - 1;
  if (!joined.is(Course::Form::kJoined) || joined.axis() != last) return {};
  const auto zero = find_if(join.inputs, [&](OutletId part) {
    return graph.fact(part).dim(last) == Dim(1) && is_zero(graph, part);
  });
  const auto each = [&](OutletId part) { return graph.fact(part).dim(last) == Dim(1); };
  if (zero == join.inputs.end() || join.inputs.size() < 2 || !all_of(join.inputs, each)) return {};
  const int64_t axis = zero - join.inputs.begin();
  if (!rewrite.scope().proves_ge(rewrite.in(0).dim(static_cast<int>(axis)), Dim(1))) return {};
  const std::string& name = rewrite.node().name;
  OutletId data = rewrite.mapped(rewrite.input(0));
  std::vector<OutletId> places;
  for (const OutletId& part : join.inputs) {
    if (&part != &*zero) places.push_back(rewrite.mapped(part));
  }
  RILL_ASSIGN(data, rewrite.wire1(str_cat(name, "_first"),
                                  make_op<Slice>(axis, Dim(0), Dim(1)), {data}));
  RILL_ASSIGN(data, rewrite.wire1(str_cat(name, "_row"), make_op<RmAxis>(axis), {data}));
  OutletId indices = places[0];
  if (places.size() > 1) {
    RILL_ASSIGN(indices,
                rewrite.wire1(str_cat(name, "_places"), make_op<Concat>(last), places));
  }
  return rewrite.replace_by(make_op<GatherNd>(0), {data, indices});
}

/// Indices with one axis gather along the first axis.
Status GatherNd::declutter(Rewrite& rewrite) const {
  const Fact& indices = rewrite.in(1);
  const int last = indices.rank() - 1;
  if (batch_dims > 0 || last < 0) return {};
  if constexpr (built("axis_ops") && built("concat") && built("broadcast")) {
    RILL_TRY(drop_zeros(rewrite));
    if (rewrite.replacement()) return {};
  }
  if (!(indices.dim(last) == Dim(1))) return {};
  if constexpr (built("axis_ops")) {
    RILL_ASSIGN(const OutletId places,
                rewrite.wire1(str_cat(rewrite.node().name, "_places"), make_op<RmAxis>(last),
                              {rewrite.mapped(rewrite.input(1))}));
    return rewrite.replace_by(make_op<Gather>(0), {rewrite.mapped(rewrite.input(0)), places});
  }
  return {};
}

namespace {

Result<OutletId> cast(LoadCtx& ctx, OutletId wire, DType to) {
  if (ctx.fact(wire).dtype == to) return wire;
  return ctx.add1(make_op<Cast>(to), {wire}, "cast");
}

/// Cast a wire to the type of the `datum_type` argument, if given.
Result<OutletId> in_requested_type(LoadCtx& ctx, OutletId wire) {
  if (!ctx.given("datum_type")) return wire;
  RILL_ASSIGN(const std::string name, ctx.text("datum_type"));
  const auto dtype = dtype_from_name(name);
  if (!dtype) return fail(Code::kDType, "no type \"", name, "\"");
  return cast(ctx, wire, *dtype);
}

/// Return the indices; untyped NNEF numbers are read as floats.
Result<OutletId> indices_of(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId indices, plain_wire(ctx, "indices"));
  return is_float(ctx.fact(indices).dtype) ? cast(ctx, indices, DType::kI64)
                                           : Result<OutletId>(indices);
}

Result<Value> load_gather(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("input"));
  RILL_ASSIGN(const OutletId indices, indices_of(ctx));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(data).rank()));
  RILL_ASSIGN(OutletId out, ctx.add1(make_op<Gather>(axis), {data, indices}));
  RILL_ASSIGN(out, in_requested_type(ctx, out));
  return as_value(out);
}

Result<Value> load_gather_elements(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId data, plain_wire(ctx, "input"));
  RILL_ASSIGN(const OutletId indices, indices_of(ctx));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(data).rank()));
  return ctx.add_value(make_op<GatherElements>(axis), {data, indices});
}

Result<Value> load_gather_nd(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId data, plain_wire(ctx, "input"));
  RILL_ASSIGN(const OutletId indices, indices_of(ctx));
  RILL_ASSIGN(const int64_t batches, ctx.integer("batch_dims"));
  return ctx.add_value(make_op<GatherNd>(batches), {data, indices});
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_gather(input: tensor<?>, indices: tensor<integer>, axis: integer)"
     " -> (output: tensor<?>);",
     load_gather},
    {"tract_core",
     "fragment tract_core_gather_elements(input: tensor<?>, indices: tensor<integer>,"
     " axis: integer) -> (output: tensor<?>);",
     load_gather_elements},
    {"tract_core",
     "fragment tract_core_gather_nd(input: tensor<?>, indices: tensor<integer>,"
     " batch_dims: integer = 0) -> (output: tensor<?>);",
     load_gather_nd},
};

constexpr OpClass kClasses[] = {
    op_class<Gather>("Gather"),
    op_class<GatherElements>("GatherElements"),
    op_class<GatherNd>("GatherNd"),
};

}  // namespace

Status GatherElements::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[1]); }
Status GatherNd::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[2]); }

extern const OpModule gather_module;
const OpModule gather_module = {"gather", kOps, kClasses};

}  // namespace rill::ops
