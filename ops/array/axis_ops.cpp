#include "ops/array/axis_ops.h"

#include <algorithm>
#include <numeric>

#include "core/base/sorted.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "ops/array/common.h"
#include "ops/array/spread.h"

namespace rill::ops {
namespace {

/// Return a view or operand whose axis i is axis `source[i]` of `from`; -1 adds a unit axis.
template <class T>
T with_axes(const T& from, std::span<const int64_t> source) {
  T out = from;
  out.rank = static_cast<int>(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    const auto axis = static_cast<size_t>(source[i]);
    out.shape[i] = source[i] < 0 ? 1 : from.shape[axis];
    out.stride[i] = source[i] < 0 ? 0 : from.stride[axis];
  }
  return out;
}

Status eval_axes(EvalCtx& ctx, std::span<const int64_t> source) {
  copy_view(with_axes(ctx.in[0], source), ctx.out[0]);
  return {};
}

Status lower_axes(Lowering& lowering, std::span<const int64_t> source) {
  Operand out = with_axes(lowering.in(0), source);
  out.konst = nullptr;
  lowering.set_out(0, std::move(out));
  return {};
}

std::vector<int64_t> counting(int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::vector<int64_t> source_of(const AddAxis& op, int64_t rank) {
  std::vector<int64_t> source = counting(rank);
  source.insert(source.begin() + op.axis, -1);
  return source;
}

std::vector<int64_t> source_of(const RmAxis& op, int64_t rank) {
  std::vector<int64_t> source = counting(rank);
  source.erase(source.begin() + op.axis);
  return source;
}

}  // namespace

Result<Facts> AddAxis::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && axis <= in[0].rank(), "no place ", axis, " for an axis in ", in[0]);
  Fact out = in[0].without_value();
  out.shape.insert(out.shape.begin() + axis, Dim(1));
  return one_fact(std::move(out));
}

RILL_NOT_IN_STEPS_BEGIN
Status AddAxis::eval(EvalCtx& ctx) const {
  return eval_axes(ctx, source_of(*this, ctx.in[0].rank));
}
RILL_NOT_IN_STEPS_END

Status AddAxis::lower(Lowering& lowering) const {
  return lower_axes(lowering, source_of(*this, lowering.in(0).rank));
}

std::vector<AxisTrack> AddAxis::axes(FactSpan in, FactSpan) const {
  return tracks_from(source_of(*this, in[0].rank()));
}

Status AddAxis::declutter(Rewrite& rewrite) const {
  const auto* removed = rewrite.producer_as<RmAxis>(0);
  if (removed && removed->axis == axis) return rewrite.bypass(rewrite.producer(0).inputs[0]);
  return spread_constant(rewrite);
}

Status AddAxis::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  ctx.assign(str_cat("unsqueeze(", x, ", axes = [", axis, "])"));
  return {};
}

Result<Facts> RmAxis::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
  const auto extent = in[0].dim(static_cast<int>(axis)).to_int();
  RILL_CHECK(!extent || *extent == 1, "axis ", axis, " of ", in[0], " has extent ", *extent,
             ", expected 1");
  Fact out = in[0].without_value();
  out.shape.erase(out.shape.begin() + axis);
  return one_fact(std::move(out));
}

RILL_NOT_IN_STEPS_BEGIN
Status RmAxis::eval(EvalCtx& ctx) const { return eval_axes(ctx, source_of(*this, ctx.in[0].rank)); }
RILL_NOT_IN_STEPS_END

Status RmAxis::lower(Lowering& lowering) const {
  return lower_axes(lowering, source_of(*this, lowering.in(0).rank));
}

std::vector<AxisTrack> RmAxis::axes(FactSpan in, FactSpan) const {
  return tracks_from(source_of(*this, in[0].rank()));
}

Status RmAxis::pulsify(PulseBuilder& b) const {
  const auto stream = b.stream(0);
  if (!stream || stream->axis != axis) return Op::pulsify(b);
  return b.refuse("Take the last frame as x[:, -1:], before the axis is dropped",
                  "it drops streaming axis ", axis, " of ", b.in(0),
                  ", which has one frame for one length of stream only");
}

Status RmAxis::declutter(Rewrite& rewrite) const {
  const auto* added = rewrite.producer_as<AddAxis>(0);
  if (added && added->axis == axis) return rewrite.bypass(rewrite.producer(0).inputs[0]);
  return spread_constant(rewrite);
}

Status RmAxis::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  ctx.assign(str_cat("squeeze(", x, ", axes = [", axis, "])"));
  return {};
}

Result<Facts> Transpose::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  std::vector<int64_t> sorted = perm;
  sort_list(sorted);
  RILL_CHECK(sorted == counting(in[0].rank()), perm, " is not an order of the axes of ", in[0]);
  Fact out = in[0].without_value();
  for (size_t i = 0; i < perm.size(); ++i) out.shape[i] = in[0].dim(static_cast<int>(perm[i]));
  return one_fact(std::move(out));
}

Status Transpose::eval(EvalCtx& ctx) const { return eval_axes(ctx, perm); }
Status Transpose::lower(Lowering& lowering) const { return lower_axes(lowering, perm); }
std::vector<AxisTrack> Transpose::axes(FactSpan, FactSpan) const { return tracks_from(perm); }

Status Transpose::declutter(Rewrite& rewrite) const {
  if (std::is_sorted(perm.begin(), perm.end())) return rewrite.bypass(rewrite.input(0));
  const auto* first = rewrite.producer_as<Transpose>(0);
  if (!first) return {};
  std::vector<int64_t> both;
  for (const int64_t axis : perm) both.push_back(first->perm[static_cast<size_t>(axis)]);
  return rewrite.replace_by(make_op<Transpose>(std::move(both)),
                            {rewrite.mapped(rewrite.producer(0).inputs[0])});
}

Status Transpose::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  ctx.assign(str_cat("transpose(", x, ", axes = ", nnef_text(perm), ")"));
  return {};
}

namespace {

/// Reshape a block-quantised constant: the order of its blocks does not depend on the shape.
Result<Value> blocks_with_shape(LoadCtx& ctx, const Tensor& blocks, std::vector<int64_t> shape) {
  RILL_ASSIGN(Tensor reshaped, blocks.reshaped(std::move(shape)));
  return as_value(ctx.konst(std::move(reshaped), "blocks"));
}

Result<Value> load_squeeze(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
  RILL_ASSIGN(std::vector<int64_t> axes, axes_in(written, ctx.fact(x).rank()));
  if (const TensorPtr blocks = blocks_of(ctx.fact(x))) {
    std::vector<int64_t> shape = blocks->shape();
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) shape.erase(shape.begin() + *axis);
    return blocks_with_shape(ctx, *blocks, std::move(shape));
  }
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    RILL_ASSIGN(x, ctx.add1(make_op<RmAxis>(*axis), {x}));
  }
  return as_value(x);
}

Result<Value> load_unsqueeze(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
  const auto rank = static_cast<int64_t>(written.size()) + ctx.fact(x).rank();
  // Insert one axis after the other, as tract does. An axis that is named twice is inserted twice.
  std::vector<int64_t> axes = written;
  for (int64_t& axis : axes) {
    RILL_ASSIGN(axis, axis_in(axis, rank));
  }
  sort_list(axes);
  const TensorPtr blocks = blocks_of(ctx.fact(x));
  std::vector<int64_t> shape = blocks ? blocks->shape() : std::vector<int64_t>();
  for (size_t i = 0; i < axes.size(); ++i) {
    RILL_CHECK(axes[i] <= rank - static_cast<int64_t>(axes.size() - i), "axes ", written,
               " leave out an axis");
    if (blocks) {
      shape.insert(shape.begin() + axes[i], 1);
    } else {
      RILL_ASSIGN(x, ctx.add1(make_op<AddAxis>(axes[i]), {x}));
    }
  }
  if (blocks) return blocks_with_shape(ctx, *blocks, std::move(shape));
  return as_value(x);
}

Result<Value> load_transpose(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::vector<int64_t> perm, ctx.integers("axes"));
  const int rank = ctx.fact(x).rank();
  for (int64_t& axis : perm) {
    RILL_ASSIGN(axis, axis_in(axis, rank));
  }
  // Axes that `perm` omits stay in place.
  for (auto axis = static_cast<int64_t>(perm.size()); axis < rank; ++axis) perm.push_back(axis);
  return ctx.add_value(make_op<Transpose>(std::move(perm)), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_nnef", "fragment squeeze<?>(input: tensor<?>, axes: integer[]) -> (output: tensor<?>);",
     load_squeeze},
    {"tract_nnef",
     "fragment unsqueeze<?>(input: tensor<?>, axes: integer[]) -> (output: tensor<?>);",
     load_unsqueeze},
    {"tract_nnef",
     "fragment transpose<?>(input: tensor<?>, axes: integer[]) -> (output: tensor<?>);",
     load_transpose},
};

}  // namespace

extern const OpModule axis_ops_module;
const OpModule axis_ops_module = {"axis_ops", kOps};

}  // namespace rill::ops
