// Reads ONNX's Softmax and similar operators.

#include <numeric>

#include "ops/array/common.h"
#include "ops/math/formula.h"
#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

/// Return the normalised axes. Before opset 13, they are `axis` and all later axes, jointly.
Result<std::vector<int64_t>> joint_axes(OnnxCtx& ctx, int rank) {
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  if (ctx.opset() < 13 && written == rank) return std::vector<int64_t>();
  RILL_ASSIGN(const int64_t axis, axis_in(written, rank));
  std::vector<int64_t> axes = {axis};
  for (int64_t next = axis + 1; ctx.opset() < 13 && next < rank; ++next) axes.push_back(next);
  return axes;
}

template <bool kLog>
Result<Value> softmax(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(std::vector<int64_t> axes, joint_axes(ctx, ctx.fact(x).rank()));
  return ctx.add_value(make_op<Softmax>(std::move(axes), kLog), {x});
}

/// Read Hardmax: 1 at the first of the largest elements, else 0.
Result<Value> hardmax(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  const std::vector<Dim> shape = f.fact(x).shape;
  RILL_ASSIGN(const std::vector<int64_t> axes, joint_axes(ctx, f.rank(x)));
  const auto first = static_cast<size_t>(axes.empty() ? f.rank(x) : axes[0]);
  if (axes.size() > 1) {
    const std::span<const Dim> all(shape);
    x = f.reshape(x, {volume(all.first(first)), volume(all.subspan(first))});
  }
  const int64_t axis = axes.size() > 1 ? 1 : static_cast<int64_t>(first);
  const OutletId at = f.add(make_op<Reduce>(ReduceKind::kArgMax, std::vector<int64_t>{axis}), {x});
  OutletId index = f.range(f.dim(x, static_cast<int>(axis)));
  for (int64_t i = f.rank(x) - 1; f.ok() && i > axis; --i) index = f.with_axis(index, 1);
  const OutletId hit = f.binary(BinaryKind::kEq, index, at);
  return f.value(f.reshape(f.cast(hit, f.fact(x).dtype), shape));
}

/// Return the negative scores of the targets, weighted by class; `ignore_index` counts as 0.
Result<OutletId> likelihood_loss(OnnxCtx& ctx, Formula& f, OutletId scores, OutletId target,
                                 const char* weights) {
  if (!f.ok()) return f.take_status();
  RILL_CHECK(f.rank(scores) >= 2 && f.rank(scores) == f.rank(target) + 1, "scores ",
             f.fact(scores), ", targets ", f.fact(target),
             ": expected [batch, classes, ...] and [batch, ...]");
  RILL_ASSIGN(const std::string reduction, ctx.text("reduction"));
  RILL_CHECK(reduction == "mean" || reduction == "sum" || reduction == "none",
             "attribute \"reduction\" is ", reduction, ": expected mean, sum or none");
  OutletId factor;
  target = f.cast(target, DType::kI64);
  const bool weighted = ctx.given(weights);
  if (ctx.given("ignore_index")) {
    RILL_ASSIGN(const int64_t ignored, ctx.integer("ignore_index"));
    const OutletId skip = f.binary(BinaryKind::kEq, target, f.number(Dim(ignored), target));
    target = f.select(skip, f.number(0.0, target), target);
    factor = f.select(skip, f.number(0.0, scores), f.number(1.0, scores));
  }
  if (weighted) {
    const OutletId of_class = f.call("tract_core_gather", {{"input", Value(f.arg(weights))},
                                                           {"indices", Value(target)},
                                                           {"axis", Value(Dim(0))}});
    factor = factor.valid() ? f.times(factor, of_class) : of_class;
  }
  const OutletId picked =
      f.call("tract_core_gather_elements", {{"input", Value(scores)},
                                            {"indices", Value(f.with_axis(target, 1))},
                                            {"axis", Value(Dim(1))}});
  OutletId loss = f.unary(UnaryKind::kNeg, f.without_axis(picked, 1));
  if (factor.valid()) loss = f.times(loss, factor);
  if (reduction == "none") return loss;
  std::vector<int64_t> axes(static_cast<size_t>(f.rank(loss)));
  std::iota(axes.begin(), axes.end(), 0);
  OutletId out = f.reduce(ReduceKind::kSum, loss, axes);
  if (reduction == "mean") {
    const OutletId count = factor.valid() ? f.reduce(ReduceKind::kSum, factor, axes)
                                          : f.number(volume(f.fact(loss).shape), loss);
    out = f.over(out, count);
  }
  return f.reshape(out, {});
}

Result<Value> negative_log_likelihood(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId scores = f.arg("input");
  const OutletId target = f.arg("target");
  RILL_ASSIGN(const OutletId loss, likelihood_loss(ctx, f, scores, target, "weight"));
  return f.value(loss);
}

Result<Value> cross_entropy(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId scores = f.add(make_op<Softmax>(std::vector<int64_t>{1}, true), {f.arg("scores")});
  const OutletId labels = f.arg("labels");
  RILL_ASSIGN(const OutletId loss, likelihood_loss(ctx, f, scores, labels, "weights"));
  return f.values({loss, scores});
}

const OnnxOp kOps[] = {
    {"", 1, "fragment Softmax(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     softmax<false>},
    {"", 13, "fragment Softmax(input: tensor<?>, axis: integer = -1) -> (output: tensor<?>);",
     softmax<false>},
    {"", 1, "fragment LogSoftmax(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     softmax<true>},
    {"", 13, "fragment LogSoftmax(input: tensor<?>, axis: integer = -1) -> (output: tensor<?>);",
     softmax<true>},
    {"", 1, "fragment Hardmax(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     hardmax},
    {"", 13, "fragment Hardmax(input: tensor<?>, axis: integer = -1) -> (output: tensor<?>);",
     hardmax},
    {"", 12,
     "fragment NegativeLogLikelihoodLoss(input: tensor<?>, target: tensor<?>, "
     "weight: tensor<?> = false, ignore_index: integer = 0, reduction: string = 'mean') "
     "-> (loss: tensor<?>);",
     negative_log_likelihood, Rounding::kOnce},
    {"", 12,
     "fragment SoftmaxCrossEntropyLoss(scores: tensor<?>, labels: tensor<?>, "
     "weights: tensor<?> = false, ignore_index: integer = 0, reduction: string = 'mean') "
     "-> (output: tensor<?>, log_prob: tensor<?>);",
     cross_entropy, Rounding::kOnce},
};

}  // namespace

extern const OnnxModule softmax_onnx;
const OnnxModule softmax_onnx = {"softmax", kOps};

}  // namespace rill::ops
