#include "ops/nn/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "kernels/softmax/softmax.h"
#include "ops/array/common.h"
#include "ops/math/elements.h"
#include "ops/math/nest.h"

namespace rill::ops {
namespace {

bool is_over(const Softmax& op, int axis) {
  return std::find(op.over.begin(), op.over.end(), axis) != op.over.end();
}

/// Normalise the row that starts at these elements; a NaN, or nothing but -infinity, gives NaNs.
template <class T>
void normalise(const T* x, T* y, const View& from, const View& to, bool log) {
  using W = Wide<T>;
  W max = -std::numeric_limits<W>::infinity();
  for_each_element<1>({from}, [&](const std::array<int64_t, 1>& at) {
    const W v = widen(x[at[0]]);
    if (v > max || std::isnan(v)) max = v;
  });
  W sum = 0;
  for_each_element<1>(
      {from}, [&](const std::array<int64_t, 1>& at) { sum += std::exp(widen(x[at[0]]) - max); });
  const W shift = std::log(sum);
  const W scale = W(1) / sum;
  for_each_element<2>({from, to}, [&](const std::array<int64_t, 2>& at) {
    const W v = widen(x[at[0]]) - max;
    y[at[1]] = narrow<T>(log ? v - shift : std::exp(v) * scale);
  });
}

}  // namespace

Result<Facts> Softmax::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  if (!is_float(in[0].dtype)) {
    return fail(Code::kDType, "expected floats, found ", in[0]);
  }
  for (const int64_t axis : over) {
    RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  }
  return Facts{in[0].without_value()};
}

Status Softmax::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& y = ctx.out[0];
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

struct StepArgs {
  kernels::SoftmaxF32Fn run;
  kernels::SoftmaxF32Args args;
  Nest loops;  ///< around the rows
  Ref x;
  Ref y;
};

void run_step(const StepArgs& step, const Frame& frame) noexcept RILL_NONBLOCKING {
  const float* x = frame.ptr<float>(step.x);
  float* y = frame.ptr<float>(step.y);
  step.loops.for_each(0, step.loops.count, [&](int64_t x_at, int64_t y_at) {
    kernels::SoftmaxF32Args args = step.args;
    args.x = x + x_at;
    args.y = y + y_at;
    step.run(args);
  });
}

}  // namespace

Status Softmax::lower(Lowering& lowering) const {
  if (lowering.in(0).dtype != DType::kF32) return Op::lower(lowering);
  // The axes that are normalised go innermost, in their logical order.
  std::vector<int> order;
  for (const int axis : Lowering::physical_order(lowering.in(0))) {
    if (!is_over(*this, axis)) order.push_back(axis);
  }
  const size_t rows = order.size();
  order.insert(order.end(), over.begin(), over.end());
  Nest row;
  Operand x = lowering.in(0);
  for (const int64_t axis : over) {
    row.add(x.extent(static_cast<int>(axis)), x.step(static_cast<int>(axis)), 0);
  }
  const bool dense = row.count == 0 || (row.count == 1 && (row.x[0] == 1 || row.extent[0] == 1));
  if (!dense) x = lowering.ordered(x, order);
  const Operand y = lowering.make_out(0, order);
  StepArgs step;
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
  step.args.rows = 1;
  if (step.loops.count > 0) {
    const auto last = static_cast<size_t>(--step.loops.count);
    step.args.rows = step.loops.extent[last];
    step.args.x_stride = step.loops.x[last];
    step.args.y_stride = step.loops.y[last];
  }
  step.x = x.ref;
  step.y = target.ref;
  lowering.step(run_step, step, {x.ref}, {target.ref});
  if (gaps) lowering.copy(target, y);
  return {};
}

std::vector<AxisTrack> Softmax::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int axis = 0; axis < in[0].rank(); ++axis) {
    if (!is_over(*this, axis)) tracks.push_back({{axis}, {axis}});
  }
  return tracks;
}

Status Softmax::pulsify(PulseBuilder& b) const {
  const auto stream = b.stream(0);
  if (stream && is_over(*this, stream->axis)) {
    return b.refuse("Normalise over another axis, or over windows of frames",
                    "normalises over streaming axis ", stream->axis,
                    ": every output needs the whole stream");
  }
  return Op::pulsify(b);
}

Cost Softmax::cost(FactSpan in, FactSpan) const {
  const Dim count = volume(in[0].shape);
  return {Dim(3) * count, Dim(2 * dtype_size(in[0].dtype)) * count};
}

Status Softmax::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  if (log) ctx.need_registry("tract_core");
  ctx.assign(str_cat(log ? "tract_core_log_softmax" : "softmax", "(", x,
                     ", axes = ", nnef_text(over), ")"));
  return {};
}

namespace {

template <bool kLog>
Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId x, plain_wire(ctx, "x"));
  RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
  RILL_ASSIGN(std::vector<int64_t> axes, axes_in(written, ctx.fact(x).rank()));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::make_shared<Softmax>(std::move(axes), kLog), {x}));
  return Value(out);
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

}  // namespace

extern const OpRoom softmax_room;
const OpRoom softmax_room = {"softmax", kOps};

}  // namespace rill::ops
