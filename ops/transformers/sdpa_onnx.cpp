// Reads ONNX's Attention and FlexAttention.

#include <cmath>
#include <limits>

#include "ops/math/formula.h"
#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Reshape [B, T, heads * size] to [B, heads, T, size], unless the heads are an axis already.
Result<OutletId> with_heads(OnnxCtx& ctx, Formula& f, OutletId x, std::string_view attribute) {
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  if (in.rank() == 4) {
    RILL_CHECK(!ctx.given(attribute), "attribute \"", attribute, "\" with an input of rank 4");
    return x;
  }
  RILL_CHECK(in.rank() == 3, "input ", in, ": expected rank 3 or 4");
  RILL_CHECK(ctx.given(attribute), "attribute \"", attribute, "\" is needed for inputs of rank 3");
  RILL_ASSIGN(const int64_t heads, ctx.integer(attribute));
  RILL_CHECK(heads > 0, "attribute \"", attribute, "\" is ", heads);
  const auto size = exact_div(in.dim(2), Dim(heads));
  RILL_CHECK(size, "input ", in, ": expected a multiple of ", heads, " on the last axis");
  return f.transpose(f.reshape(x, {in.dim(0), in.dim(1), Dim(heads), *size}), {0, 2, 1, 3});
}

/// Repeat each head for the queries that share it.
OutletId repeated(Formula& f, OutletId x, int64_t times) {
  if (times == 1) return x;
  const Fact in = f.fact(x);
  if (in.rank() != 4) return x;
  const OutletId open = f.broadcast(f.with_axis(x, 2),
                                    {in.dim(0), in.dim(1), Dim(times), in.dim(2), in.dim(3)});
  return f.reshape(open, {in.dim(0), in.dim(1) * Dim(times), in.dim(2), in.dim(3)});
}

/// Return 0 where the condition holds, and minus infinity elsewhere.
OutletId bias_of(Formula& f, OutletId allowed, OutletId like) {
  return f.select(allowed, f.number(0.0, like), f.number(kNever, like));
}

/// Return the mask of the file as a summand; keys past the end of the mask are masked.
OutletId mask_bias(Formula& f, OutletId mask, OutletId scores) {
  mask =
      f.fact(mask).dtype == DType::kBool ? bias_of(f, mask, scores) : f.cast(mask, f.dtype(scores));
  const Dim keys = f.dim(scores, 3);
  const int last = f.rank(mask) - 1;
  if (!f.ok() || last < 0) return mask;
  const Dim rest = keys - f.dim(mask, last);
  if (rest == Dim(0) || f.dim(mask, last) == Dim(1)) return mask;
  std::vector<Dim> shape = f.fact(mask).shape;
  shape[static_cast<size_t>(last)] = rest;
  return f.concat({mask, f.broadcast(f.number(kNever, scores), shape)}, last);
}

struct Windows {
  bool causal = false;
  int64_t left = -1;
  int64_t right = -1;
};

/// Return the position of each query, counted from the first key, minus that of each key.
OutletId distances(OnnxCtx& ctx, Formula& f, OutletId scores) {
  OutletId queries = f.with_axis(f.range(f.dim(scores, 2)), 1);
  const OutletId keys = f.range(f.dim(scores, 3));
  if (ctx.given("past_key")) {
    const OutletId past = f.arg("past_key");
    queries = f.plus(queries, f.number(f.dim(past, 2), queries));
  } else if (ctx.has("nonpad_kv_seqlen") && ctx.given("nonpad_kv_seqlen")) {
    const OutletId valid = f.cast(f.arg("nonpad_kv_seqlen"), DType::kI64);
    const OutletId before = f.minus(valid, f.number(f.dim(scores, 2), valid));
    queries = f.plus(queries, f.reshape(before, {f.dim(scores, 0), 1, 1, 1}));
  }
  return f.minus(queries, keys);
}

Result<OutletId> masked(OnnxCtx& ctx, Formula& f, OutletId scores, const Windows& windows) {
  if (ctx.given("attn_mask")) {
    scores = f.plus(scores, mask_bias(f, f.arg("attn_mask"), scores));
  }
  const bool valid = ctx.has("nonpad_kv_seqlen") && ctx.given("nonpad_kv_seqlen");
  if (windows.causal || windows.left >= 0 || windows.right >= 0) {
    const OutletId distance = distances(ctx, f, scores);
    const auto within = [&](BinaryKind kind, int64_t most) {
      const OutletId limit = f.number(Dim(most), distance);
      scores = f.plus(scores, bias_of(f, f.binary(kind, distance, limit), scores));
    };
    if (windows.causal) within(BinaryKind::kGe, 0);
    if (windows.left >= 0) within(BinaryKind::kLe, windows.left);
    if (windows.right >= 0) within(BinaryKind::kGe, -windows.right);
  }
  if (valid) {
    const OutletId count = f.cast(f.arg("nonpad_kv_seqlen"), DType::kI64);
    const OutletId counts = f.reshape(count, {f.dim(scores, 0), 1, 1, 1});
    const OutletId keys = f.range(f.dim(scores, 3));
    scores = f.plus(scores, bias_of(f, f.binary(BinaryKind::kLt, keys, counts), scores));
  }
  if (!f.ok()) return f.take_status();
  return scores;
}

OutletId softmax_of(Formula& f, OutletId scores) {
  return f.add(make_op<Softmax>(std::vector<int64_t>{3}, false), {scores});
}

/// Return the softmax of the scores. A fully masked row gives zeros, not the NaN of a softmax over
/// nothing. Each score is selected separately, so that windows stream; in a row with NaN, masked
/// weights are zeros.
OutletId weights_of(Formula& f, OutletId scores) {
  const OutletId hidden = f.binary(BinaryKind::kEq, scores, f.number(kNever, scores));
  const OutletId weights = softmax_of(f, scores);
  return f.select(hidden, f.number(0.0, weights), weights);
}

/// As above, for weights that are an output: a NaN fills its whole row.
OutletId whole_weights_of(Formula& f, OutletId scores) {
  const OutletId most = f.reduce(ReduceKind::kMax, scores, {3});
  const OutletId none = f.binary(BinaryKind::kEq, most, f.number(kNever, most));
  const OutletId weights = softmax_of(f, f.select(none, f.number(0.0, scores), scores));
  return f.select(none, f.number(0.0, weights), weights);
}

Result<Windows> windows_of(OnnxCtx& ctx) {
  Windows windows;
  RILL_ASSIGN(windows.causal, ctx.boolean("is_causal"));
  if (ctx.has("left_window_size")) {
    RILL_ASSIGN(windows.left, ctx.integer("left_window_size"));
    RILL_ASSIGN(windows.right, ctx.integer("right_window_size"));
  }
  return windows;
}

/// Return the type of the softmax: that of the node, or `otherwise`.
Result<DType> softmax_type(OnnxCtx& ctx, DType otherwise) {
  if (!ctx.given("softmax_precision")) return otherwise;
  RILL_ASSIGN(const int64_t number, ctx.integer("softmax_precision"));
  const auto given = onnx_type(number);
  RILL_CHECK(given && is_float(*given), "attribute \"softmax_precision\" is ",
             onnx_type_name(number), ": expected a float type");
  return *given;
}

Result<Value> attention(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId query = f.arg("Q");
  const int rank = f.rank(query);
  RILL_ASSIGN(OutletId q, with_heads(ctx, f, query, "q_num_heads"));
  RILL_ASSIGN(OutletId k, with_heads(ctx, f, f.arg("K"), "kv_num_heads"));
  RILL_ASSIGN(OutletId v, with_heads(ctx, f, f.arg("V"), "kv_num_heads"));
  if (ctx.given("past_key")) k = f.concat({f.arg("past_key"), k}, 2);
  if (ctx.given("past_value")) v = f.concat({f.arg("past_value"), v}, 2);
  if (!f.ok()) return f.take_status();
  const std::pair<OutletId, OutletId> present{k, v};
  RILL_ASSIGN(const int64_t heads, f.dim(q, 1).as_int());
  RILL_ASSIGN(const int64_t kept, f.dim(k, 1).as_int());
  RILL_CHECK(kept > 0 && heads % kept == 0, heads, " heads of queries for ", kept, " of keys");
  RILL_ASSIGN(const int64_t size, f.dim(q, 3).as_int());
  double scale = 1.0 / std::sqrt(static_cast<double>(size));
  if (ctx.given("scale")) {
    RILL_ASSIGN(const float given, ctx.number("scale"));
    scale = given;
  }
  RILL_ASSIGN(const float softcap, ctx.number("softcap"));
  RILL_ASSIGN(const int64_t mode, ctx.integer("qk_matmul_output_mode"));
  RILL_ASSIGN(const Windows windows, windows_of(ctx));
  const double root = std::sqrt(std::abs(scale));
  RILL_CHECK(scale >= 0.0, "attribute \"scale\" is ", static_cast<float>(scale));
  const DType own = f.dtype(v);
  q = f.upcast(q);
  k = repeated(f, f.upcast(k), heads / kept);
  v = repeated(f, f.upcast(v), heads / kept);
  OutletId stages[4];
  OutletId scores =
      f.matmul(f.times(q, f.number(root, q)), f.times(k, f.number(root, k)), true);
  stages[0] = scores;
  if (softcap > 0.0F) {
    const OutletId cap = f.number(softcap, scores);
    scores = f.times(f.unary(UnaryKind::kTanh, f.over(scores, cap)), cap);
  }
  stages[1] = scores;
  RILL_ASSIGN(scores, masked(ctx, f, scores, windows));
  stages[2] = scores;
  RILL_ASSIGN(const DType wide, softmax_type(ctx, f.dtype(scores)));
  const OutletId exact = f.cast(scores, wide);
  const OutletId weights =
      f.cast(mode == 3 ? whole_weights_of(f, exact) : weights_of(f, exact), f.dtype(v));
  stages[3] = weights;
  OutletId out = f.cast(f.matmul(weights, v), own);
  if (rank == 3) {
    const Fact fact = f.fact(out);
    out = f.transpose(out, {0, 2, 1, 3});
    if (f.ok()) out = f.reshape(out, {fact.dim(0), fact.dim(2), fact.dim(1) * fact.dim(3)});
  }
  RILL_CHECK(mode >= 0 && mode <= 3, "attribute \"qk_matmul_output_mode\" is ", mode);
  return f.values({out, present.first, present.second, f.cast(stages[mode], own)});
}

/// Let a graph of the node change scores or weights, which keep their type and shape.
Result<OutletId> modified(OnnxCtx& ctx, Formula& f, OutletId x, std::string_view attribute) {
  if (!f.ok()) return f.take_status();
  if (!ctx.given(attribute)) return x;
  const OutletId inputs[] = {x};
  RILL_ASSIGN(const std::vector<OutletId> outs, ctx.branch(attribute, inputs));
  RILL_CHECK(outs.size() == 1 && f.dtype(outs[0]) == f.dtype(x) &&
                 f.fact(outs[0]).shape == f.fact(x).shape,
             "attribute \"", attribute, "\": expected a graph of one output ", f.fact(x));
  return outs[0];
}

Result<Value> flex_attention(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId q = f.arg("Q");
  OutletId k = f.arg("K");
  OutletId v = f.arg("V");
  if (!f.ok()) return f.take_status();
  RILL_CHECK(f.rank(q) == 4 && f.rank(k) == 4 && f.rank(v) == 4, "Q ", f.fact(q), ", K ",
             f.fact(k), ", V ", f.fact(v), ": expected rank 4");
  for (const OutletId other : {k, v}) RILL_TRY(ctx.take_as_equal(f.dim(other, 0), f.dim(q, 0)));
  for (const int axis : {1, 2}) RILL_TRY(ctx.take_as_equal(f.dim(v, axis), f.dim(k, axis)));
  RILL_TRY(ctx.take_as_equal(f.dim(k, 3), f.dim(q, 3)));
  RILL_ASSIGN(const int64_t heads, f.dim(q, 1).as_int());
  RILL_ASSIGN(const int64_t kept, f.dim(k, 1).as_int());
  RILL_CHECK(kept > 0 && heads % kept == 0, heads, " heads of queries for ", kept, " of keys");
  RILL_ASSIGN(const int64_t size, f.dim(q, 3).as_int());
  float scale = 1.0F / std::sqrt(static_cast<float>(size));
  if (ctx.given("scale")) {
    RILL_ASSIGN(scale, ctx.number("scale"));
    RILL_CHECK(scale >= 0.0F, "attribute \"scale\" is ", scale);
  }
  const DType narrow = f.dtype(q);
  RILL_ASSIGN(const DType wide,
              softmax_type(ctx, narrow == DType::kF64 ? narrow : DType::kF32));
  const double root = std::sqrt(scale);
  q = f.upcast(q);
  k = repeated(f, f.upcast(k), heads / kept);
  v = repeated(f, v, heads / kept);
  const OutletId raw = f.matmul(f.times(q, f.number(root, q)), f.times(k, f.number(root, k)), true);
  RILL_ASSIGN(const OutletId scores, modified(ctx, f, f.cast(raw, wide), "score_mod"));
  RILL_ASSIGN(const OutletId weights, modified(ctx, f, softmax_of(f, scores), "prob_mod"));
  return f.value(f.cast(f.matmul(weights, f.cast(v, wide)), f.dtype(v)));
}

#define RILL_ONNX_ATTENTION(since, inputs, attributes)                                          \
  {                                                                                             \
    "", since, "fragment Attention(Q: tensor<?>, K: tensor<?>, V: tensor<?>, "                  \
        "attn_mask: tensor<?> = false, past_key: tensor<?> = false, "                           \
        "past_value: tensor<?> = false" inputs ", is_causal: logical = false, "                 \
        "kv_num_heads: integer = 0, q_num_heads: integer = 0, "                                 \
        "qk_matmul_output_mode: integer = 0, scale: scalar = 0.0, softcap: scalar = 0.0, "      \
        "softmax_precision: integer = 1" attributes ") "                                        \
        "-> (Y: tensor<?>, present_key: tensor<?>, present_value: tensor<?>, "                  \
        "qk_matmul_output: tensor<?>);",                                                        \
        attention                                                                               \
  }

const OnnxOp kOps[] = {
    RILL_ONNX_ATTENTION(23, "", ""),
    RILL_ONNX_ATTENTION(24, ", nonpad_kv_seqlen: tensor<integer> = false", ""),
    RILL_ONNX_ATTENTION(25, ", nonpad_kv_seqlen: tensor<integer> = false",
                        ", left_window_size: integer = -1, right_window_size: integer = -1"),
    {"ai.onnx.preview", 1,
     "fragment FlexAttention(Q: tensor<?>, K: tensor<?>, V: tensor<?>, prob_mod: ? = false, "
     "score_mod: ? = false, scale: scalar = 0.0, softmax_precision: integer = 1) "
     "-> (Y: tensor<?>);",
     flex_attention},
};

}  // namespace

extern const OnnxModule sdpa_onnx;
const OnnxModule sdpa_onnx = {"sdpa", kOps};

}  // namespace rill::ops
