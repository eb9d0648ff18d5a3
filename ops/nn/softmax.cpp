#include "ops/nn/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "kernels/softmax/softmax.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/kernel_fields.h"
#include "ops/math/f16_operands.h"
#include "ops/math/nest.h"
#include "ops/math/quantised.h"
#include "ops/nn/masked_rows.h"
#include "ops/nn/softmax_step.h"

namespace rill::ops {
namespace {

bool is_over(const Softmax& op, int axis) { return contains(op.over, axis); }

/// Normalise the row that starts at these elements; a row with a NaN, or of -infinity only, becomes
/// NaNs.
template <class T>
void normalise(const T* x, T* y, const View& from, const View& to, bool log) {
  using W = Wide<T>;
  W max = -std::numeric_limits<W>::infinity();
  for_each_element<1>({from}, [&](const std::array<int64_t, 1>& at) {
    const W v = upcast(x[at[0]]);
    if (v > max || std::isnan(v)) max = v;
  });
  W sum = 0;
  for_each_element<1>(
      {from}, [&](const std::array<int64_t, 1>& at) { sum += std::exp(upcast(x[at[0]]) - max); });
  const W shift = std::log(sum);
  const W scale = W(1) / sum;
  for_each_element<2>({from, to}, [&](const std::array<int64_t, 2>& at) {
    const W v = upcast(x[at[0]]) - max;
    y[at[1]] = narrow<T>(log ? v - shift : std::exp(v) * scale);
  });
}

/// As above, of quantised numbers; `row`: the offsets of the row in x and in y.
void normalise_real(const View& x, const View& y, const View& from, const View& to, bool log,
                    const std::array<int64_t, 2>& row) {
  double max = -std::numeric_limits<double>::infinity();
  for_each_element<1>({from}, [&](const std::array<int64_t, 1>& at) {
    max = std::max(max, real_at(x, row[0] + at[0]));
  });
  double sum = 0;
  for_each_element<1>({from}, [&](const std::array<int64_t, 1>& at) {
    sum += std::exp(real_at(x, row[0] + at[0]) - max);
  });
  for_each_element<2>({from, to}, [&](const std::array<int64_t, 2>& at) {
    const double v = real_at(x, row[0] + at[0]) - max;
    store_real(y, row[1] + at[1], log ? v - std::log(sum) : std::exp(v) / sum);
  });
}

/// Files may name a missing axis; only a run reports it.
Status check_axes(const Softmax& op, int rank) {
  for (const int64_t axis : op.over) {
    RILL_CHECK(axis >= 0 && axis < rank, "no axis ", axis, " in rank ", rank);
  }
  return {};
}

}  // namespace

Result<Facts> Softmax::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  if (is_quantised(in[0].dtype)) {
    if (!is_quantised(to)) return fail(Code::kDType, in[0], " as ", dtype_name(to));
    Fact out = Fact::of(to, in[0].shape);
    out.q = q;
    return one_fact(std::move(out));
  }
  if (!is_float(in[0].dtype)) {
    return fail(Code::kDType, "expected floats, found ", in[0]);
  }
  return one_fact(in[0].without_value());
}

Dim Softmax::work(FactSpan in, FactSpan out) const {
  return check_axes(*this, in[0].rank()).ok() ? cost(in, out).fma : Dim::invalid();
}

Status Softmax::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
  RILL_TRY(check_axes(*this, x.rank));
  View outer[2] = {x, y};
  View inner[2] = {x, y};
  for (int side = 0; side < 2; ++side) {
    outer[side].rank = inner[side].rank = 0;
    const View& whole = side == 0 ? x : y;
    for (int axis = 0; axis < x.rank; ++axis) {
      View& part = is_over(*this, axis) ? inner[side] : outer[side];
      const auto at = static_cast<size_t>(part.rank++);
      part.shape[at] = whole.extent(axis);
      part.stride[at] = whole.step(axis);
    }
  }
  if (is_quantised(x.dtype)) {
    for_each_element<2>({outer[0], outer[1]}, [&](const std::array<int64_t, 2>& at) {
      normalise_real(x, y, inner[0], inner[1], log, at);
    });
    return {};
  }
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<Wide<T>>) {
      for_each_element<2>({outer[0], outer[1]}, [&](const std::array<int64_t, 2>& at) {
        normalise(x.as<const T>() + at[0], y.as<T>() + at[1], inner[0], inner[1], log);
      });
    }
  });
  return {};
}

namespace {

/// The number of multiply-adds that take as long as one element of a row.
constexpr double kWorkPerElement = 64;

}  // namespace

Status Softmax::lower(Lowering& lowering) const {
  RILL_TRY(check_axes(*this, lowering.in(0).rank));
  const bool is_f16 = lowering.in(0).dtype == DType::kF16 && lowering.in(0).volume() > 0;
  if (lowering.in(0).dtype != DType::kF32 && !is_f16) return Op::lower(lowering);
  // The axes that are normalised go innermost, in their logical order.
  std::vector<int> order;
  for (const int axis : Lowering::physical_order(lowering.in(0))) {
    if (!is_over(*this, axis)) order.push_back(axis);
  }
  const size_t rows = order.size();
  order.insert(order.end(), over.begin(), over.end());
  Nest row;
  Operand x = upcast(lowering, lowering.in(0));
  for (const int64_t axis : over) {
    row.add(x.extent(static_cast<int>(axis)), x.step(static_cast<int>(axis)), 0);
  }
  const bool dense = row.count == 0 || (row.count == 1 && (row.x[0] == 1 || row.extent[0] == 1));
  if (!dense) x = lowering.ordered(x, order);
  const Operand out = lowering.make_out(0, order);
  const Operand y = in_floats(lowering, out, order);
  SoftmaxStep step;
  step.run = kernels::softmax_f32();
  step.args.log = log;
  step.args.n = 1;
  int64_t stride = 1;
  bool gaps = false;
  for (size_t i = order.size(); i-- > rows;) {
    step.args.n *= y.extent(order[i]);
    gaps |= y.extent(order[i]) != 1 && y.step(order[i]) != stride;
    stride *= y.extent(order[i]);
  }
  Operand target = y;
  if (gaps) {  // a ring along one of the axes
    const std::vector<int64_t> shape(y.shape.begin(), y.shape.begin() + y.rank);
    target = lowering.scratch(DType::kF32, shape, order);
  }
  for (size_t i = 0; i < rows; ++i) {
    step.loops.add(x.extent(order[i]), x.step(order[i]), target.step(order[i]));
  }
  const Nest::Loop inner = step.loops.take_last();
  step.args.rows = inner.extent;
  step.args.x_stride = inner.x;
  step.args.y_stride = inner.y;
  step.x = x.ref;
  step.y = target.ref;
  Lowering::Work work;
  work.units = step.loops.units(step.args.rows);
  work.multiply_adds = kWorkPerElement * static_cast<double>(y.volume());
  lowering.step_in_parts(kSoftmax, step, work, {x}, {target});
  if (gaps) lowering.copy(target, y);
  narrow(lowering, y, out, order);
  return {};
}

Course Softmax::course() const {
  return {.form = Course::Form::kNormalised, .axes = over, .logarithm = log};
}

std::vector<AxisTrack> Softmax::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int axis = 0; axis < in[0].rank(); ++axis) {
    if (!is_over(*this, axis)) tracks.push_back({{axis}, {axis}});
  }
  return tracks;
}

namespace {

/// Pulse a softmax of attention scores: its sum excludes keys outside the stream.
Status pulsify_scores(PulseBuilder& b, ScoresBuilder& scores, const Softmax& op) {
  const Square at = scores.square();
  if (is_over(op, at.row)) {
    return b.refuse("Normalise over the keys", "it normalises over the queries");
  }
  OutletId x = b.wire(0);
  if (is_over(op, at.column)) {
    RILL_ASSIGN(x, scores.hide_keys(x));
  }
  RILL_ASSIGN(const OutletId out, b.add1(make_op<Softmax>(op), {x}));
  b.set(0, out, b.stream(0));
  return {};
}

}  // namespace

Status Softmax::pulsify(PulseBuilder& b) const {
  if (ScoresBuilder* scores = b.scores()) return pulsify_scores(b, *scores, *this);
  const auto stream = b.stream(0);
  if (stream && is_over(*this, stream->axis)) {
    return b.refuse("Normalise over another axis, or over windows of frames",
                    "normalises over streaming axis ", stream->axis,
                    ": every output needs the whole stream");
  }
  return Op::pulsify(b);
}

namespace {

/// Return the only node that reads output 0 of the current node; null if there is not exactly one.
const Node* only_reader(const Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  const OutletId own{rewrite.node_id(), 0};
  if (rewrite.uses(own) != 1) return nullptr;
  for (size_t id = static_cast<size_t>(own.node) + 1; id < graph.nodes.size(); ++id) {
    const std::vector<OutletId>& inputs = graph.nodes[id].inputs;
    if (contains(inputs, own)) return &graph.nodes[id];
  }
  return nullptr;
}

}  // namespace

/// If an axis is dropped upstream and added downstream, or the reverse, move the change downstream
/// of this op, where the two cancel.
Status Softmax::declutter(Rewrite& rewrite) const {
  const auto* removed = rewrite.producer_as<RmAxis>(0);
  const auto* added = rewrite.producer_as<AddAxis>(0);
  if (!removed && !added) return {};
  const Node* reader = only_reader(rewrite);
  if (!reader || !check_axes(*this, rewrite.in(0).rank()).ok()) return {};
  const auto* back = reader->op->as<AddAxis>();
  const auto* forth = reader->op->as<RmAxis>();
  const bool cancels = (removed && back && removed->axis == back->axis) ||
                       (added && forth && added->axis == forth->axis);
  if (!cancels) return {};
  const int64_t at = removed ? removed->axis : added->axis;
  auto moved = draft_op<Softmax>(*this);
  for (int64_t& axis : moved->over) {
    if (added && axis == at) return {};
    if (removed && axis >= at) ++axis;
    if (added && axis > at) --axis;
  }
  const Node& change = rewrite.producer(0);
  RILL_ASSIGN(OutletId out, rewrite.wire1(rewrite.node().name, std::move(moved),
                                          {rewrite.mapped(change.inputs[0])}));
  RILL_ASSIGN(out, rewrite.wire1(change.name, change.op, {out}));
  return rewrite.replace({out});
}

Status Softmax::fuse(Rewrite& rewrite) const { return fuse_masked_rows(rewrite); }

Cost Softmax::cost(FactSpan in, FactSpan) const {
  const Dim count = volume(in[0].shape);
  return {Dim(3) * count, Dim(2 * dtype_size(in[0].dtype)) * count};
}

namespace {

template <bool kLog>
Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId x, plain_wire(ctx, "x"));
  RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
  const Fact& fact = ctx.fact(x);
  std::vector<int64_t> axes = written;
  for (int64_t& axis : axes) axis += axis < 0 ? fact.rank() : 0;
  sort_list(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  auto op = draft_op<Softmax>(std::move(axes), kLog);
  if (is_quantised(fact.dtype)) {
    const auto asked = ctx.quant();
    const bool same = !asked || !is_quantised(asked->dtype);
    op->to = same ? fact.dtype : asked->dtype;
    op->q = same ? fact.q : asked->q;
  }
  return ctx.add_value(std::move(op), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment softmax(x: tensor<scalar>, axes: integer[] = [1]) -> (y: tensor<scalar>);",
     load<false>},
    {"tract_core",
     "fragment tract_core_softmax(x: tensor<scalar>, axes: integer[]) -> (y: tensor<scalar>);",
     load<false>},
    {"tract_core",
     "fragment tract_core_log_softmax(x: tensor<scalar>, axes: integer[]) -> (y: tensor<scalar>);",
     load<true>},
};

constexpr OpClass kClasses[] = {op_class<Softmax>("Softmax")};

}  // namespace

Status Softmax::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[log ? 2 : 0]); }

extern const OpModule softmax_module;
const OpModule softmax_module = {"softmax", kOps, kClasses};

}  // namespace rill::ops
