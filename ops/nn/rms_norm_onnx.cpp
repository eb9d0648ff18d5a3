// Reads ONNX's normalisations.

#include <numeric>

#include "ops/array/axis_argument.h"
#include "ops/array/common.h"
#include "ops/math/formula.h"

namespace rill::ops {
namespace {

/// Return the axes [from, to).
std::vector<int64_t> axes_between(int64_t from, int64_t to) {
  std::vector<int64_t> axes(static_cast<size_t>(std::max<int64_t>(0, to - from)));
  std::iota(axes.begin(), axes.end(), from);
  return axes;
}

/// Return 1 / sqrt(variance + epsilon).
OutletId inverse_root(Formula& f, OutletId variance, double epsilon) {
  const OutletId positive = f.plus(variance, f.number(epsilon, variance));
  return f.unary(UnaryKind::kRecip, f.unary(UnaryKind::kSqrt, positive));
}

/// The parts of a normalisation: x minus its mean, divided by the deviation.
struct Normalized {
  OutletId mean;
  OutletId inverse;
  OutletId out;
};

Normalized normalized(Formula& f, OutletId x, const std::vector<int64_t>& axes, double epsilon) {
  Normalized parts;
  parts.mean = f.mean(x, axes);
  const OutletId centered = f.minus(x, parts.mean);
  parts.inverse = inverse_root(f, f.mean(f.unary(UnaryKind::kSquare, centered), axes), epsilon);
  parts.out = f.times(centered, parts.inverse);
  return parts;
}

/// Require that a factor or summand broadcasts to x, aligned at the last axis, and return it.
OutletId within(Formula& f, OutletId wire, OutletId x) {
  f.expect_within(wire, x);
  return wire;
}

/// Add unit axes to a list per channel, so that it broadcasts along axis 1 of that rank.
OutletId per_channel(Formula& f, OutletId wire, int rank) {
  for (int axis = 2; axis < rank && f.ok(); ++axis) wire = f.with_axis(wire, 1);
  return wire;
}

/// Require a list per channel of x, [batch, channels, ...].
Status expect_per_channel(OnnxCtx& ctx, OutletId x, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    RILL_ASSIGN(const OutletId list, ctx.wire(name));
    if (ctx.fact(x).rank() < 2 || ctx.fact(list).rank() != 1) continue;
    RILL_TRY(ctx.expect_equal(ctx.fact(x).dim(1), ctx.fact(list).dim(0)));
  }
  return {};
}

/// Return the type of the computation: f64 for f64, else that of the attribute.
Result<DType> stash_type(OnnxCtx& ctx, DType own) {
  RILL_ASSIGN(const int64_t number, ctx.integer("stash_type"));
  const auto type = onnx_type(number);
  RILL_CHECK(type && is_float(*type), "attribute \"stash_type\" is ", onnx_type_name(number),
             ": expected a float type");
  return own == DType::kF64 ? own : *type;
}

/// The attributes of a normalisation over the last axes.
struct TrailingNorm {
  DType own = DType::kF32;   ///< of the input and the output
  DType type = DType::kF32;  ///< the type of the computation
  std::vector<int64_t> axes;
  float epsilon = 0.0F;
};

Result<TrailingNorm> trailing_norm(OnnxCtx& ctx, const Fact& in) {
  TrailingNorm norm;
  norm.own = in.dtype;
  RILL_ASSIGN(norm.type, stash_type(ctx, norm.own));
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, in.rank()));
  norm.axes = axes_between(axis, in.rank());
  RILL_ASSIGN(norm.epsilon, ctx.number("epsilon"));
  return norm;
}

Result<Value> layer_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const TrailingNorm norm, trailing_norm(ctx, f.fact(x)));
  const Normalized parts = normalized(f, f.cast(x, norm.type), norm.axes, norm.epsilon);
  OutletId out = f.times(f.cast(parts.out, norm.own), within(f, f.arg("Scale"), x));
  if (ctx.given("B")) out = f.plus(out, within(f, f.arg("B"), x));
  return f.values({out, parts.mean, parts.inverse});
}

Result<Value> rms_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const TrailingNorm norm, trailing_norm(ctx, f.fact(x)));
  const OutletId wide = f.cast(x, norm.type);
  const OutletId squares = f.mean(f.unary(UnaryKind::kSquare, wide), norm.axes);
  const OutletId out = f.times(wide, inverse_root(f, squares, norm.epsilon));
  return f.value(f.times(f.cast(out, norm.own), within(f, f.arg("scale"), x)));
}

/// Return the sum of the input, the skip connection and a bias.
OutletId skip_sum(OnnxCtx& ctx, Formula& f) {
  OutletId sum = f.plus(f.arg("input"), f.arg("skip"));
  if (ctx.given("bias")) sum = f.plus(sum, within(f, f.arg("bias"), sum));
  return sum;
}

/// Return the rows of a table at the indices.
OutletId rows_at(Formula& f, const char* table, OutletId indices) {
  return f.call("tract_core_gather", {{"input", Value(f.arg(table))},
                                      {"indices", Value(indices)},
                                      {"axis", Value(Dim(0))}});
}

/// Read EmbedLayerNormalization: the normalised sum of the embeddings of words, positions and
/// segments, and the number of unmasked words of each row.
Result<Value> embed_layer_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId ids = f.arg("input_ids");
  if (!f.ok()) return f.take_status();
  RILL_CHECK(f.rank(ids) == 2, "input_ids ", f.fact(ids), ": expected [batch, frames]");
  OutletId sum = rows_at(f, "word_embedding", ids);
  const bool placed = ctx.given("position_ids");
  const OutletId places = placed ? f.arg("position_ids") : f.range(f.dim(ids, 1));
  sum = f.plus(sum, rows_at(f, "position_embedding", places));
  if (ctx.given("segment_embedding")) {
    sum = f.plus(sum, rows_at(f, "segment_embedding", f.arg("segment_ids")));
  }
  RILL_ASSIGN(const float epsilon, ctx.number("epsilon"));
  OutletId out = normalized(f, sum, {2}, epsilon).out;
  out = f.plus(f.times(out, f.arg("gamma")), f.arg("beta"));
  OutletId count = f.broadcast(f.number(0.0, ids), {f.dim(ids, 0)});
  if (ctx.given("mask")) {
    const OutletId mask = f.arg("mask");
    const OutletId open = f.binary(BinaryKind::kEq, mask, f.number(1.0, mask));
    count = f.without_axis(f.reduce(ReduceKind::kSum, f.cast(open, f.dtype(ids)), {1}), 1);
  }
  return f.values({out, count, sum});
}

Result<Value> skip_layer_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId sum = skip_sum(ctx, f);
  RILL_ASSIGN(const float epsilon, ctx.number("epsilon"));
  const int64_t rank = f.rank(sum);
  const Normalized parts = normalized(f, sum, axes_between(rank - 1, rank), epsilon);
  OutletId out = f.times(parts.out, within(f, f.arg("gamma"), sum));
  if (ctx.given("beta")) out = f.plus(out, within(f, f.arg("beta"), sum));
  return f.values({out, parts.mean, parts.inverse, sum});
}

Result<Value> skip_rms_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId sum = skip_sum(ctx, f);
  RILL_ASSIGN(const float epsilon, ctx.number("epsilon"));
  const int64_t rank = f.rank(sum);
  const OutletId squares =
      f.mean(f.unary(UnaryKind::kSquare, sum), axes_between(rank - 1, rank));
  const OutletId inverse = inverse_root(f, squares, epsilon);
  const OutletId out = f.times(f.times(sum, inverse), within(f, f.arg("gamma"), sum));
  return f.values({out, squares, inverse, sum});
}

/// Read the training mode: statistics are those of the input, and running ones are outputs.
Result<Value> batch_norm_of_batch(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  RILL_ASSIGN(const float epsilon, ctx.number("epsilon"));
  RILL_ASSIGN(const float momentum, ctx.number("momentum"));
  if (!f.ok()) return f.take_status();
  const int rank = f.rank(x);
  RILL_CHECK(rank >= 2, "input \"X\" is ", f.fact(x), ": expected [batch, channels, ...]");
  RILL_TRY(expect_per_channel(ctx, x, {"scale", "B", "mean", "var"}));
  std::vector<int64_t> axes = axes_between(2, rank);
  axes.insert(axes.begin(), 0);
  const Dim channels = f.dim(x, 1);
  const auto column = [&](const char* name) { return per_channel(f, f.arg(name), rank); };
  const OutletId mean = f.mean(x, axes);
  const OutletId from_mean = f.minus(x, mean);
  const OutletId variance = f.mean(f.unary(UnaryKind::kSquare, from_mean), axes);
  const OutletId inverse = inverse_root(f, variance, epsilon);
  const OutletId y = f.plus(f.times(f.times(from_mean, inverse), column("scale")), column("B"));
  const auto kept = [&](const char* name, OutletId seen) {
    const OutletId before = f.arg(name);
    const OutletId list = f.cast(f.reshape(seen, {channels}), f.dtype(before));
    return f.plus(f.times(before, f.number(momentum, before)),
                  f.times(list, f.number(1.0 - static_cast<double>(momentum), before)));
  };
  return f.values({y, kept("mean", mean), kept("var", variance)});
}

Result<Value> batch_norm(OnnxCtx& ctx) {
  if (ctx.has("training_mode")) {
    RILL_ASSIGN(const bool training, ctx.boolean("training_mode"));
    if (training) return batch_norm_of_batch(ctx);
  }
  if (ctx.has("is_test")) {
    RILL_ASSIGN(const bool test, ctx.boolean("is_test"));
    if (!test) return fail(Code::kUnsupported, "is_test is 0: rill does not train");
  }
  if (ctx.has("spatial")) {
    RILL_ASSIGN(const bool spatial, ctx.boolean("spatial"));
    if (!spatial) return fail(Code::kUnsupported, "attribute \"spatial\" is 0: expected 1");
  }
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_TRY(expect_per_channel(ctx, x, {"scale", "B", "mean", "var"}));
  const int rank = f.rank(x);
  RILL_ASSIGN(const float epsilon, ctx.number("epsilon"));
  const DType own = f.fact(x).dtype;
  const DType type = f.fact(f.arg("var")).dtype;
  const OutletId inverse = inverse_root(f, f.arg("var"), epsilon);
  const OutletId scale = f.times(f.cast(f.arg("scale"), type), inverse);
  const OutletId shift = f.minus(f.cast(f.arg("B"), type), f.times(f.arg("mean"), scale));
  const OutletId out = f.plus(f.times(f.cast(x, type), per_channel(f, scale, rank)),
                              per_channel(f, shift, rank));
  return f.value(f.cast(out, own));
}

Result<Value> instance_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  RILL_TRY(expect_per_channel(ctx, x, {"scale", "B"}));
  const int rank = f.rank(x);
  RILL_ASSIGN(const float epsilon, ctx.number("epsilon"));
  const OutletId out = normalized(f, x, axes_between(2, rank), epsilon).out;
  const OutletId scaled = f.times(out, per_channel(f, f.arg("scale"), rank));
  return f.value(f.plus(scaled, per_channel(f, f.arg("B"), rank)));
}

Result<Value> group_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_CHECK(in.rank() >= 2, "input ", in, ": expected [batch, channels, ...]");
  RILL_ASSIGN(const int64_t groups, ctx.integer("num_groups"));
  RILL_ASSIGN(const int64_t channels, in.dim(1).as_int());
  RILL_CHECK(groups >= 1 && channels % groups == 0, counted(groups, "group"), " for ", channels,
             " channels");
  RILL_ASSIGN(const float epsilon, ctx.number("epsilon"));
  DType type = in.dtype;
  if (ctx.has("stash_type")) {
    RILL_ASSIGN(type, stash_type(ctx, in.dtype));
  }
  std::vector<Dim> split(in.shape.begin() + 2, in.shape.end());
  split.insert(split.begin(), {in.dim(0), Dim(groups), Dim(channels / groups)});
  const OutletId parts = f.reshape(f.cast(x, type), split);
  OutletId out = normalized(f, parts, axes_between(2, in.rank() + 1), epsilon).out;
  const bool per_group = ctx.opset() < 21;
  if (!per_group) out = f.reshape(out, in.shape);
  const int rank = f.rank(out);
  out = f.times(f.cast(out, in.dtype), per_channel(f, f.arg("scale"), rank));
  out = f.plus(out, per_channel(f, f.arg("bias"), rank));
  return f.value(per_group ? f.reshape(out, in.shape) : out);
}

Result<Value> lp_norm(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, f.rank(x)));
  RILL_ASSIGN(const int64_t p, ctx.integer("p"));
  RILL_CHECK(p == 1 || p == 2, "attribute \"p\" is ", p, ": expected 1 or 2");
  const UnaryKind kind = p == 1 ? UnaryKind::kAbs : UnaryKind::kSquare;
  OutletId norm = f.reduce(ReduceKind::kSum, f.unary(kind, x), {axis});
  if (p == 2) norm = f.unary(UnaryKind::kSqrt, norm);
  // Replace a norm of 0 by 1, so that zeros stay zeros.
  const OutletId zero = f.number(0.0, norm);
  const OutletId empty = f.binary(BinaryKind::kEq, norm, zero);
  return f.value(f.over(x, f.select(empty, f.number(1.0, norm), norm)));
}

Result<Value> mean_variance(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("X");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
  RILL_ASSIGN(const std::vector<int64_t> axes, axes_in(written, f.rank(x)));
  // Subtracting a second mean removes the rounding error of the first one.
  const OutletId nearly = f.minus(x, f.mean(x, axes));
  const OutletId centered = f.minus(nearly, f.mean(nearly, axes));
  // The standard's E[x^2] - E[x]^2 cancels if the mean is large.
  const OutletId square = f.mean(f.unary(UnaryKind::kSquare, centered), axes);
  const OutletId deviation = f.unary(UnaryKind::kSqrt, square);
  return f.value(f.over(centered, f.plus(deviation, f.number(1e-9, deviation))));
}

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment SkipLayerNormalization(input: tensor<?>, skip: tensor<?>, gamma: tensor<?>, "
     "beta: tensor<?> = false, bias: tensor<?> = false, epsilon: scalar = 1.0e-12) "
     "-> (output: tensor<?>, mean: tensor<?>, inv_std_var: tensor<?>, sum: tensor<?>);",
     skip_layer_norm, Rounding::kOnce},
    {"com.microsoft", 1,
     "fragment SkipSimplifiedLayerNormalization(input: tensor<?>, skip: tensor<?>, "
     "gamma: tensor<?>, bias: tensor<?> = false, epsilon: scalar = 1.0e-12) "
     "-> (output: tensor<?>, mean: tensor<?>, inv_std_var: tensor<?>, sum: tensor<?>);",
     skip_rms_norm, Rounding::kOnce},
    {"com.microsoft", 1,
     "fragment EmbedLayerNormalization(input_ids: tensor<integer>, "
     "segment_ids: tensor<integer> = false, word_embedding: tensor<?>, "
     "position_embedding: tensor<?>, segment_embedding: tensor<?> = false, gamma: tensor<?>, "
     "beta: tensor<?>, mask: tensor<integer> = false, position_ids: tensor<integer> = false, "
     "epsilon: scalar = 1.0e-12, mask_index_type: integer = 0) "
     "-> (output: tensor<?>, mask_index: tensor<integer>, embedding_sum: tensor<?>);",
     embed_layer_norm, Rounding::kOnce},
    // onnxruntime's optimisers write this operator without a domain.
    {"", 1,
     "fragment SimplifiedLayerNormalization(X: tensor<?>, scale: tensor<?>, axis: integer = -1, "
     "epsilon: scalar = 1.0e-5, stash_type: integer = 1) -> (Y: tensor<?>);",
     rms_norm, Rounding::kOnce},
    {"", 17,
     "fragment LayerNormalization(X: tensor<?>, Scale: tensor<?>, B: tensor<?> = false, "
     "axis: integer = -1, epsilon: scalar = 1e-5, stash_type: integer = 1) "
     "-> (Y: tensor<?>, Mean: tensor<?>, InvStdDev: tensor<?>);",
     layer_norm},
    {"", 23,
     "fragment RMSNormalization(X: tensor<?>, scale: tensor<?>, axis: integer = -1, "
     "epsilon: scalar = 1e-5, stash_type: integer = 1) -> (Y: tensor<?>);",
     rms_norm},
    {"", 6,
     "fragment BatchNormalization(X: tensor<?>, scale: tensor<?>, B: tensor<?>, mean: tensor<?>, "
     "var: tensor<?>, epsilon: scalar = 1e-5, is_test: logical = false, momentum: scalar = 0.9, "
     "spatial: logical = true) -> (Y: tensor<?>);",
     batch_norm, Rounding::kOnce},
    {"", 7,
     "fragment BatchNormalization(X: tensor<?>, scale: tensor<?>, B: tensor<?>, mean: tensor<?>, "
     "var: tensor<?>, epsilon: scalar = 1e-5, momentum: scalar = 0.9, spatial: logical = true) "
     "-> (Y: tensor<?>);",
     batch_norm, Rounding::kOnce},
    {"", 9,
     "fragment BatchNormalization(X: tensor<?>, scale: tensor<?>, B: tensor<?>, mean: tensor<?>, "
     "var: tensor<?>, epsilon: scalar = 1e-5, momentum: scalar = 0.9) -> (Y: tensor<?>);",
     batch_norm, Rounding::kOnce},
    {"", 14,
     "fragment BatchNormalization(X: tensor<?>, scale: tensor<?>, B: tensor<?>, mean: tensor<?>, "
     "var: tensor<?>, epsilon: scalar = 1e-5, momentum: scalar = 0.9, "
     "training_mode: logical = false) "
     "-> (Y: tensor<?>, running_mean: tensor<?>, running_var: tensor<?>);",
     batch_norm, Rounding::kOnce},
    {"", 6,
     "fragment InstanceNormalization(input: tensor<?>, scale: tensor<?>, B: tensor<?>, "
     "epsilon: scalar = 1e-5) -> (output: tensor<?>);",
     instance_norm, Rounding::kOnce},
    {"", 18,
     "fragment GroupNormalization(X: tensor<?>, scale: tensor<?>, bias: tensor<?>, "
     "epsilon: scalar = 1e-5, num_groups: integer) -> (Y: tensor<?>);",
     group_norm, Rounding::kOnce},
    {"", 21,
     "fragment GroupNormalization(X: tensor<?>, scale: tensor<?>, bias: tensor<?>, "
     "epsilon: scalar = 1e-5, num_groups: integer, stash_type: integer = 1) -> (Y: tensor<?>);",
     group_norm, Rounding::kOnce},
    {"", 1,
     "fragment LpNormalization(input: tensor<?>, axis: integer = -1, p: integer = 2) "
     "-> (output: tensor<?>);",
     lp_norm, Rounding::kOnce},
    {"", 9,
     "fragment MeanVarianceNormalization(X: tensor<?>, axes: integer[] = [0, 2, 3]) "
     "-> (Y: tensor<?>);",
     mean_variance, Rounding::kOnce},
    {"", 1,
     "fragment LRN(X: tensor<?>, alpha: scalar = 0.0001, beta: scalar = 0.75, bias: scalar = 1.0, "
     "size: integer) -> (Y: tensor<?>) "
     "{ Y = tract_onnx_lrn(X, alpha=alpha, beta=beta, bias=bias, size=size); }",
     nullptr},
};

}  // namespace

extern const OnnxModule rms_norm_onnx;
const OnnxModule rms_norm_onnx = {"rms_norm", kOps};

}  // namespace rill::ops
