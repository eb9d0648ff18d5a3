// Reads ONNX's reductions.

#include <numeric>

#include "core/graph/onnx.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/math/formula.h"
#include "ops/math/numpy.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

enum class Form : uint8_t { kPlain, kMean, kL1, kL2, kSumSquare, kLogSum };

/// Return the axes to reduce. Without axes: all, or none if the node says so.
Result<std::vector<int64_t>> reduced_axes(OnnxCtx& ctx, int rank) {
  std::vector<int64_t> written;
  if (ctx.given("axes")) {
    RILL_ASSIGN(written, ctx.integers("axes"));
  }
  if (!written.empty()) return axes_in(written, rank);
  if (ctx.has("noop_with_empty_axes")) {
    RILL_ASSIGN(const bool none, ctx.boolean("noop_with_empty_axes"));
    if (none) return written;
  }
  written.resize(static_cast<size_t>(rank));
  std::iota(written.begin(), written.end(), 0);
  return written;
}

Result<OutletId> before(OnnxCtx& ctx, Form form, OutletId x) {
  if (form == Form::kL1) return ctx.add1(make_op<Unary>(UnaryKind::kAbs), {x}, "abs");
  if (form != Form::kL2 && form != Form::kSumSquare) return x;
  return ctx.add1(make_op<Unary>(UnaryKind::kSquare), {x}, "square");
}

Result<OutletId> after(OnnxCtx& ctx, Form form, const Dim& count, OutletId sum) {
  if (form == Form::kL2) {
    return ctx.add1(make_op<Unary>(UnaryKind::kSqrt), {sum}, "root");
  }
  if (form == Form::kLogSum) {
    return ctx.add1(make_op<Unary>(UnaryKind::kLn), {sum}, "log");
  }
  if (form != Form::kMean) return sum;
  return load_mean(ctx, sum, count, "mean");
}

Result<OutletId> without_axes(OnnxCtx& ctx, OutletId x, const std::vector<int64_t>& axes) {
  for (size_t i = axes.size(); i-- > 0;) {
    RILL_ASSIGN(x, ctx.add1(make_op<RmAxis>(axes[i]), {x}, "squeeze"));
  }
  return x;
}

/// Refuse integers, as `why` explains.
Status check_reals(const Fact& x, const char* why) {
  if (!is_int(x.dtype)) return {};
  return fail(Code::kDType, "not defined for ", x, ": ", why)
      .hint("Cast the input to floats before, and the result back");
}

Result<Value> reduce_as(OnnxCtx& ctx, ReduceKind kind, Form form) {
  RILL_ASSIGN(OutletId x, ctx.wire("data"));
  RILL_ASSIGN(const std::vector<int64_t> axes, reduced_axes(ctx, ctx.fact(x).rank()));
  RILL_ASSIGN(const bool keep, ctx.boolean("keepdims"));
  Dim count = 1;
  for (const int64_t axis : axes) count *= ctx.fact(x).dim(static_cast<int>(axis));
  // The L2 norm of integers is computed in reals, and truncated at the end.
  const DType type = ctx.fact(x).dtype;
  if (form == Form::kLogSum) {
    RILL_TRY(check_reals(ctx.fact(x), "ONNX defines it by Log, which takes floats only"));
  }
  const bool as_reals = form == Form::kL2 && is_int(type);
  if (as_reals) {
    RILL_ASSIGN(x, cast_to(ctx, x, DType::kF64));
  }
  RILL_ASSIGN(x, before(ctx, form, x));
  if (ctx.fact(x).dtype == DType::kBool) {
    if (kind == ReduceKind::kMax) kind = ReduceKind::kAny;
    if (kind == ReduceKind::kMin) kind = ReduceKind::kAll;
  }
  if (!axes.empty()) {
    RILL_ASSIGN(x, ctx.add1(make_op<Reduce>(kind, axes), {x}));
  }
  RILL_ASSIGN(x, after(ctx, form, count, x));
  if (as_reals) {
    RILL_ASSIGN(x, cast_to(ctx, x, type));
  }
  if (keep) return as_value(x);
  RILL_ASSIGN(x, without_axes(ctx, x, axes));
  return as_value(x);
}

template <ReduceKind kKind, Form kForm = Form::kPlain>
Result<Value> reduce(OnnxCtx& ctx) {
  return reduce_as(ctx, kKind, kForm);
}

template <ReduceKind kKind>
Result<Value> arg(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("data"));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const int64_t axis, axis_in(written, ctx.fact(x).rank()));
  RILL_ASSIGN(const bool keep, ctx.boolean("keepdims"));
  bool last = false;
  if (ctx.has("select_last_index")) {
    RILL_ASSIGN(last, ctx.boolean("select_last_index"));
  }
  Formula f(ctx);
  OutletId out = f.add(make_op<Reduce>(kKind, std::vector<int64_t>{axis}, last), {x});
  if (!keep) out = f.without_axis(out, axis);
  return f.value(out);
}

/// Compute log(sum(exp(x))) relative to the maximum, so that the exponentials do not overflow.
Result<Value> log_sum_exp(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("data");
  if (!f.ok()) return f.take_status();
  // The definition computes in f64; ONNX Runtime truncates each exponential, which gives 10 for ten
  // times 9 and one 10, in place of 11.
  RILL_TRY(check_reals(f.fact(x), "ONNX Runtime gives other integers than the definition of ONNX"));
  RILL_ASSIGN(const std::vector<int64_t> axes, reduced_axes(ctx, f.rank(x)));
  RILL_ASSIGN(const bool keep, ctx.boolean("keepdims"));
  OutletId most = f.reduce(ReduceKind::kMax, x, axes);
  // The difference of two equal infinities would be NaN.
  const OutletId infinite = f.add(make_op<Unary>(UnaryKind::kIsInf, 3.0F), {most});
  most = f.select(infinite, f.number(0.0, most), most);
  const OutletId sum =
      f.reduce(ReduceKind::kSum, f.unary(UnaryKind::kExp, f.minus(x, most)), axes);
  OutletId out = f.plus(f.unary(UnaryKind::kLn, sum), most);
  for (size_t i = axes.size(); i-- > 0 && !keep;) out = f.without_axis(out, axes[i]);
  return f.value(out);
}

// Axes are attributes before the opset `inputs`, then an input.
#define RILL_ONNX_REDUCE(name, inputs, ...)                                 \
  {"", 1,                                                                   \
   "fragment " name                                                         \
   "(data: tensor<?>, axes: integer[] = [], keepdims: logical = true) "     \
   "-> (reduced: tensor<?>);",                                              \
   reduce<__VA_ARGS__>},                                                    \
  {                                                                         \
    "", inputs,                                                             \
        "fragment " name                                                    \
        "(data: tensor<?>, axes: tensor<integer> = false, "                 \
        "keepdims: logical = true, noop_with_empty_axes: logical = false) " \
        "-> (reduced: tensor<?>);",                                         \
        reduce<__VA_ARGS__>                                                 \
  }

#define RILL_ONNX_ARG(name, kind)                                                               \
  {"", 1, "fragment " name "(data: tensor<?>, axis: integer = 0, keepdims: logical = true) "    \
          "-> (reduced: tensor<integer>);",                                                     \
   arg<kind>},                                                                                  \
  {                                                                                             \
    "", 12, "fragment " name "(data: tensor<?>, axis: integer = 0, keepdims: logical = true, "  \
        "select_last_index: logical = false) -> (reduced: tensor<integer>);",                   \
        arg<kind>                                                                               \
  }

const OnnxOp kOps[] = {
    RILL_ONNX_REDUCE("ReduceSum", 13, ReduceKind::kSum),
    RILL_ONNX_REDUCE("ReduceMax", 18, ReduceKind::kMax),
    RILL_ONNX_REDUCE("ReduceMin", 18, ReduceKind::kMin),
    RILL_ONNX_REDUCE("ReduceProd", 18, ReduceKind::kProduct),
    RILL_ONNX_REDUCE("ReduceMean", 18, ReduceKind::kSum, Form::kMean),
    RILL_ONNX_REDUCE("ReduceL1", 18, ReduceKind::kSum, Form::kL1),
    RILL_ONNX_REDUCE("ReduceL2", 18, ReduceKind::kSum, Form::kL2),
    RILL_ONNX_REDUCE("ReduceSumSquare", 18, ReduceKind::kSum, Form::kSumSquare),
    RILL_ONNX_REDUCE("ReduceLogSum", 18, ReduceKind::kSum, Form::kLogSum),
    {"", 1,
     "fragment ReduceLogSumExp(data: tensor<?>, axes: integer[] = [], keepdims: logical = true) "
     "-> (reduced: tensor<?>);",
     log_sum_exp},
    {"", 18,
     "fragment ReduceLogSumExp(data: tensor<?>, axes: tensor<integer> = false, "
     "keepdims: logical = true, noop_with_empty_axes: logical = false) -> (reduced: tensor<?>);",
     log_sum_exp},
    RILL_ONNX_ARG("ArgMax", ReduceKind::kArgMax),
    RILL_ONNX_ARG("ArgMin", ReduceKind::kArgMin),
};

}  // namespace

extern const OnnxModule reduce_onnx;
const OnnxModule reduce_onnx = {"reduce", kOps};

}  // namespace rill::ops
