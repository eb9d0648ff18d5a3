// Reads GroupQueryAttention of com.microsoft: causal attention over a cache of keys and values,
// where several heads of queries share each head of keys.
// The input cache begins with the `seqlens_k` frames of each batch, and may have unused space after
// them. The output cache appends the new frames. It has the input's length if all of them fit (a
// shared buffer), else the length of all frames together. Only a shared buffer works with
// --feedback, because its extent stays the same.

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/array/common.h"
#include "ops/array/gather.h"
#include "ops/nn/softmax.h"
#include "ops/transformers/onnx_rotary.h"

namespace rill::ops {
namespace {

struct Counts {
  int64_t heads = 0;
  int64_t kept = 0;  ///< heads of keys, and of values
  Dim batch;
  Dim frames;
  Dim size;  ///< of a head
};

/// Queries, keys and values: [batch, frames, heads, size] each.
struct Parts {
  OutletId q;
  OutletId k;
  OutletId v;
};

/// Positions in the cache, per batch, as i64.
struct Places {
  OutletId before;  ///< [batch]: where the new frames begin
  OutletId after;   ///< [batch]: where they end
  OutletId seen;    ///< [batch]: the number of frames that a query sees if it sees all
  OutletId rows;    ///< [batch, frames]: where the queries lie
  Dim extent;       ///< of the output cache
  Dim total;        ///< the maximum number of frames in it
};

Status refuse(OnnxCtx& ctx, std::string_view name, std::string_view reason) {
  if (!ctx.given(name)) return {};
  return fail(Code::kUnsupported, "\"", name, "\": ", reason);
}

Status refuse_the_rest(OnnxCtx& ctx) {
  for (const std::string_view name : {"k_scale", "v_scale"}) {
    RILL_TRY(refuse(ctx, name, "the cache of keys and values is quantised, expected floats"));
  }
  for (const std::string_view name : {"k_quant_type", "v_quant_type"}) {
    RILL_ASSIGN(const std::string type, ctx.text(name));
    if (type != "NONE") RILL_TRY(refuse(ctx, name, "expected a cache that is not quantised"));
  }
  for (const std::string_view name : {"q_norm_weight", "k_norm_weight"}) {
    RILL_TRY(refuse(ctx, name, "queries and keys are normalised, expected nodes that do so"));
  }
  RILL_ASSIGN(const bool sliding, ctx.boolean("sliding_window_cache"));
  if (sliding) {
    return fail(Code::kUnsupported, "attribute \"sliding_window_cache\": the cache forgets frames, "
                                    "expected one that holds all");
  }
  RILL_ASSIGN(const int64_t products, ctx.integer("qk_output"));
  if (products != 0) {
    return fail(Code::kUnsupported, "attribute \"qk_output\": the products of queries and keys are "
                                    "not given out");
  }
  return {};
}

/// Assert the equal extents that the operator requires.
Status tie_extents(OnnxCtx& ctx, Formula& f) {
  const OutletId query = f.arg("query");
  RILL_CHECK(f.ok() && f.rank(query) == 3, "query ", f.fact(query), ": expected rank 3");
  const auto tie = [&](const char* name, int rank, int axis, OutletId to, int to_axis) {
    if (!ctx.given(name)) return Status();
    const OutletId wire = f.arg(name);
    if (!f.ok()) return f.take_status();
    RILL_CHECK(f.rank(wire) == rank, "input \"", name, "\" is ", f.fact(wire), ": expected rank ",
               rank);
    return ctx.take_as_equal(f.dim(wire, axis), f.dim(to, to_axis));
  };
  for (const char* name : {"key", "value"}) {
    RILL_TRY(tie(name, 3, 0, query, 0));
    RILL_TRY(tie(name, 3, 1, query, 1));
  }
  RILL_CHECK(ctx.given("past_key") == ctx.given("past_value"),
             "past_key and past_value must be given together");
  RILL_TRY(tie("past_key", 4, 0, query, 0));
  RILL_TRY(tie("past_value", 4, 0, query, 0));
  if (ctx.given("past_key")) RILL_TRY(tie("past_value", 4, 2, f.arg("past_key"), 2));
  RILL_TRY(tie("position_ids", 2, 0, query, 0));
  RILL_TRY(tie("position_ids", 2, 1, query, 1));
  RILL_TRY(tie("seqlens_k", std::max(1, f.rank(f.arg("seqlens_k"))), 0, query, 0));
  return tie("query_seqlens", 1, 0, query, 0);
}

Result<Counts> counts_of(OnnxCtx& ctx, const Fact& query) {
  Counts counts;
  RILL_ASSIGN(counts.heads, ctx.integer("num_heads"));
  RILL_ASSIGN(counts.kept, ctx.integer("kv_num_heads"));
  RILL_CHECK(counts.kept > 0 && counts.heads > 0 && counts.heads % counts.kept == 0, counts.heads,
             " heads of queries for ", counts.kept, " of keys");
  const bool packed = !ctx.given("key");
  RILL_CHECK(packed == !ctx.given("value"), "key and value must be given together");
  const int64_t widths = packed ? counts.heads + 2 * counts.kept : counts.heads;
  const auto size = exact_div(query.dim(2), Dim(widths));
  RILL_CHECK(size, "query ", query, ": expected [batch, frames, ", widths,
             " heads of equal sizes]");
  counts.batch = query.dim(0);
  counts.frames = query.dim(1);
  counts.size = *size;
  return counts;
}

Parts parts_of(OnnxCtx& ctx, Formula& f, const Counts& counts) {
  const auto by_heads = [&](OutletId x, int64_t heads) {
    return f.reshape(x, {counts.batch, counts.frames, Dim(heads), counts.size});
  };
  const OutletId query = f.arg("query");
  if (ctx.given("key")) {
    return {by_heads(query, counts.heads), by_heads(f.arg("key"), counts.kept),
            by_heads(f.arg("value"), counts.kept)};
  }
  const OutletId all = by_heads(query, counts.heads + 2 * counts.kept);
  const Dim keys(counts.heads);
  const Dim values(counts.heads + counts.kept);
  return {f.slice(all, 2, Dim(0), keys), f.slice(all, 2, keys, values),
          f.slice(all, 2, values, values + Dim(counts.kept))};
}

/// Return the number of all frames; without a cache, all are new.
Result<Dim> total_of(OnnxCtx& ctx, const Dim& frames) {
  if (!ctx.given("past_key")) return frames;
  RILL_ASSIGN(const TensorPtr total, ctx.constant("total_sequence_length"));
  RILL_CHECK(total->volume() == 1, "total_sequence_length has ",
             counted(total->volume(), "element"));
  return element_as_dim(*total, 0);
}

Result<Places> places_of(OnnxCtx& ctx, Formula& f, const Counts& counts) {
  Places at;
  RILL_ASSIGN(at.total, total_of(ctx, counts.frames));
  at.extent = at.total;
  const bool ragged = ctx.given("query_seqlens");
  if (ctx.given("past_key")) {
    const Dim past = f.dim(f.arg("past_key"), 2);
    at.extent = max(at.total, past);
    const auto [most, had, fresh] = std::tuple(at.total.to_int(), past.to_int(),
                                               counts.frames.to_int());
    RILL_CHECK(ragged || !most || !had || !fresh || *most <= *had || *most == *had + *fresh,
               "total_sequence_length ", *most, ": expected at most the ", counted(*had, "frame"),
               " of the cache, or ", *fresh, " more");
  }
  const auto lengths = [&](const char* name) {
    return f.reshape(f.cast(f.arg(name), DType::kI64), {counts.batch});
  };
  const OutletId last = lengths("seqlens_k");
  at.seen = f.plus(last, f.number(1.0, last));
  const OutletId fresh = ragged ? lengths("query_seqlens") : f.number(counts.frames, last);
  at.before = f.binary(BinaryKind::kMax, f.minus(at.seen, fresh), f.number(0.0, last));
  at.after = f.plus(at.before, fresh);
  at.rows = f.plus(f.with_axis(at.before, 1), f.range(counts.frames));
  if (!f.ok()) return f.take_status();
  return at;
}

/// Return the positions for the rotation, [batch, frames]: `position_ids` if given, else positions
/// in the cache. If all frames of the cache are new, and `query_seqlens` is not given, the
/// positions of all batches ascend from the first of `position_ids`.
OutletId positions_of(OnnxCtx& ctx, Formula& f, const Places& at) {
  if (!ctx.given("position_ids")) return at.rows;
  const OutletId ids = f.cast(f.arg("position_ids"), DType::kI64);
  if (ctx.given("query_seqlens")) return ids;
  const OutletId corner = f.slice(f.slice(ids, 0, Dim(0), Dim(1)), 1, Dim(0), Dim(1));
  const OutletId counted = f.plus(corner, f.range(f.dim(ids, 1)));
  const OutletId all_new = f.number(eq(f.dim(ids, 1), at.total), ids);
  return f.select(f.binary(BinaryKind::kNe, all_new, f.number(0.0, ids)), counted, ids);
}

Status rotate(OnnxCtx& ctx, Formula& f, const Places& at, Parts* parts) {
  RILL_ASSIGN(const bool rotates, ctx.boolean("do_rotary"));
  if (!rotates) return {};
  RILL_CHECK(ctx.given("cos_cache") && ctx.given("sin_cache"), "do_rotary without tables");
  RILL_ASSIGN(const bool interleaved, ctx.boolean("rotary_interleaved"));
  const OutletId positions = positions_of(ctx, f, at);
  const auto rows_of = [&](const char* name) {
    const OutletId table = f.cast(f.arg(name), DType::kF32);
    return f.with_axis(f.add(make_op<Gather>(0), {table, positions}), 2);
  };
  const OutletId cos = rows_of("cos_cache");
  const OutletId sin = rows_of("sin_cache");
  RILL_ASSIGN(const int64_t half, f.dim(cos, 3).as_int());
  const DType own = f.dtype(parts->q);
  for (OutletId* part : {&parts->q, &parts->k}) {
    const OutletId wide = f.cast(*part, DType::kF32);
    *part = f.cast(rotated(f, wide, cos, sin, half, interleaved), own);
  }
  return f.take_status();
}

/// Return where each frame of the output cache comes from, [batch, kept, extent, 1]. The cache has
/// earlier frames, then the new ones, then zeros.
OutletId sources_of(Formula& f, const Counts& counts, const Places& at, const Dim& past) {
  const OutletId place = f.range(at.extent);
  const OutletId before = f.with_axis(at.before, 1);
  const OutletId moved = f.plus(f.minus(place, before), f.number(past, before));
  OutletId from = f.select(f.binary(BinaryKind::kLt, place, before), place, moved);
  const OutletId written = f.binary(BinaryKind::kLt, place, f.with_axis(at.after, 1));
  from = f.select(written, from, f.number(past + counts.frames, from));
  from = f.with_axis(f.with_axis(from, 1), 3);
  return f.broadcast(from, {counts.batch, Dim(counts.kept), at.extent, Dim(1)});
}

/// Append the new keys and values to those of the cache: [batch, kept, extent, size].
void add_cache(OnnxCtx& ctx, Formula& f, const Counts& counts, const Places& at, Parts* parts) {
  for (OutletId* part : {&parts->k, &parts->v}) *part = f.transpose(*part, {0, 2, 1, 3});
  if (!ctx.given("past_key")) return;
  const OutletId keys = f.arg("past_key");
  const OutletId from = sources_of(f, counts, at, f.dim(keys, 2));
  const std::vector<Dim> one_frame = {counts.batch, Dim(counts.kept), Dim(1), counts.size};
  const OutletId zeros = f.broadcast(f.number(0.0, keys), one_frame);
  const auto taken = [&](OutletId past, OutletId fresh) {
    return f.add(make_op<GatherNd>(2), {f.concat({past, fresh, zeros}, 2), from});
  };
  parts->k = taken(keys, parts->k);
  parts->v = taken(f.arg("past_value"), parts->v);
}

/// Set the scores of keys that their query does not see to minus infinity.
Result<OutletId> masked(OnnxCtx& ctx, Formula& f, OutletId scores, const Counts& counts,
                        const Places& at) {
  RILL_ASSIGN(const bool causal, ctx.boolean("causal"));
  RILL_ASSIGN(const int64_t window, ctx.integer("local_window_size"));
  RILL_CHECK(window > 0 || window == -1, "attribute \"local_window_size\" is ", window,
             ": expected -1, or more than 0");
  RILL_CHECK(causal || window == -1, "attribute \"local_window_size\" where \"causal\" is 0");
  const OutletId never = f.number(-std::numeric_limits<double>::infinity(), scores);
  const OutletId keys = f.range(at.extent);
  if (!causal) {
    const OutletId seen = f.reshape(at.seen, {counts.batch, Dim(1), Dim(1), Dim(1)});
    return f.select(f.binary(BinaryKind::kLt, keys, seen), scores, never);
  }
  const OutletId rows = f.reshape(at.rows, {counts.batch, Dim(1), counts.frames, Dim(1)});
  const OutletId distance = f.minus(rows, keys);
  const OutletId zero = f.number(0.0, distance);
  scores = f.select(f.binary(BinaryKind::kGe, distance, zero), scores, never);
  if (window == -1) return scores;
  const OutletId limit = f.number(Dim(window), distance);
  return f.select(f.binary(BinaryKind::kLt, distance, limit), scores, never);
}

/// Return the weights of the keys. The softmax may include a score without a key: `head_sink`, or 0
/// for `smooth_softmax`.
Result<OutletId> weights_of(OnnxCtx& ctx, Formula& f, OutletId scores, const Counts& counts) {
  RILL_ASSIGN(const bool smooth, ctx.boolean("smooth_softmax"));
  const bool sink = ctx.given("head_sink");
  const Dim keys = f.dim(scores, 3);
  if (sink || smooth) {
    OutletId more = f.number(0.0, scores);
    if (sink) {
      more = f.cast(f.arg("head_sink"), f.dtype(scores));
      more = f.reshape(more, {Dim(1), Dim(counts.heads), Dim(1), Dim(1)});
    }
    more = f.broadcast(more, {counts.batch, Dim(counts.heads), counts.frames, Dim(1)});
    scores = f.concat({scores, more}, 3);
  }
  const OutletId weights = f.add(make_op<Softmax>(std::vector<int64_t>{3}, false), {scores});
  return sink || smooth ? f.slice(weights, 3, Dim(0), keys) : weights;
}

/// Return the bias with one column per key of the cache. Columns beyond those given are zeros:
/// `masked` hides their keys.
OutletId bias_of(Formula& f, const Places& at) {
  const OutletId bias = f.cast(f.arg("attention_bias"), DType::kF32);
  const Fact fact = f.fact(bias);
  if (!f.ok() || fact.rank() != 4) return bias;
  const Dim rest = at.extent - fact.dim(3);
  if (rest == Dim(0)) return bias;
  const OutletId zeros = f.broadcast(f.number(0.0, bias),
                                     {fact.dim(0), fact.dim(1), fact.dim(2), rest});
  return f.concat({bias, zeros}, 3);
}

/// Compute the attention of queries [batch, frames, heads, size] over keys and values [batch, kept,
/// keys, size], and join the heads. In f32, as onnxruntime does for f16.
Result<OutletId> attended(OnnxCtx& ctx, Formula& f, const Counts& counts, const Places& at,
                          const Parts& parts) {
  RILL_ASSIGN(const float given, ctx.number("scale"));
  RILL_ASSIGN(const float softcap, ctx.number("softcap"));
  RILL_ASSIGN(const int64_t size, counts.size.as_int());
  const double scale = given == 0.0F ? 1.0 / std::sqrt(static_cast<double>(size)) : given;
  const DType own = f.dtype(parts.q);
  OutletId q = f.cast(parts.q, DType::kF32);
  q = f.transpose(f.times(q, f.number(scale, q)), {0, 2, 1, 3});
  // Query heads that share a head of keys become rows of one matmul.
  const Dim rows = counts.frames * Dim(counts.heads / counts.kept);
  q = f.reshape(q, {counts.batch, Dim(counts.kept), rows, counts.size});
  OutletId scores = f.matmul(q, f.cast(parts.k, DType::kF32), true);
  scores = f.reshape(scores, {counts.batch, Dim(counts.heads), counts.frames, at.extent});
  if (softcap > 0.0F) {
    const OutletId cap = f.number(softcap, scores);
    scores = f.times(f.unary(UnaryKind::kTanh, f.over(scores, cap)), cap);
  }
  if (ctx.given("attention_bias")) scores = f.plus(scores, bias_of(f, at));
  RILL_ASSIGN(scores, masked(ctx, f, scores, counts, at));
  RILL_ASSIGN(OutletId weights, weights_of(ctx, f, scores, counts));
  weights = f.reshape(weights, {counts.batch, Dim(counts.kept), rows, at.extent});
  OutletId out = f.matmul(weights, f.cast(parts.v, DType::kF32));
  out = f.reshape(out, {counts.batch, Dim(counts.heads), counts.frames, counts.size});
  out = f.transpose(f.cast(out, own), {0, 2, 1, 3});
  return f.reshape(out, {counts.batch, counts.frames, Dim(counts.heads) * counts.size});
}

Result<Value> group_query_attention(OnnxCtx& ctx) {
  RILL_TRY(refuse_the_rest(ctx));
  Formula f(ctx);
  RILL_TRY(tie_extents(ctx, f));
  RILL_ASSIGN(const Counts counts, counts_of(ctx, f.fact(f.arg("query"))));
  Parts parts = parts_of(ctx, f, counts);
  RILL_ASSIGN(const Places at, places_of(ctx, f, counts));
  RILL_TRY(rotate(ctx, f, at, &parts));
  add_cache(ctx, f, counts, at, &parts);
  RILL_ASSIGN(const OutletId out, attended(ctx, f, counts, at, parts));
  return f.values({out, parts.k, parts.v});
}

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment GroupQueryAttention(query: tensor<?>, key: tensor<?> = false, "
     "value: tensor<?> = false, past_key: tensor<?> = false, past_value: tensor<?> = false, "
     "seqlens_k: tensor<integer>, total_sequence_length: tensor<integer>, "
     "cos_cache: tensor<?> = false, sin_cache: tensor<?> = false, "
     "position_ids: tensor<integer> = false, attention_bias: tensor<?> = false, "
     "head_sink: tensor<?> = false, k_scale: tensor<?> = false, v_scale: tensor<?> = false, "
     "q_norm_weight: tensor<?> = false, k_norm_weight: tensor<?> = false, "
     "query_seqlens: tensor<integer> = false, causal: logical = true, do_rotary: logical = false, "
     "k_quant_type: string = 'NONE', kv_num_heads: integer, local_window_size: integer = -1, "
     "num_heads: integer, qk_output: integer = 0, rotary_interleaved: logical = false, "
     "scale: scalar = 0.0, sliding_window_cache: logical = false, smooth_softmax: logical = false, "
     "softcap: scalar = 0.0, v_quant_type: string = 'NONE') "
     "-> (output: tensor<?>, present_key: tensor<?>, present_value: tensor<?>, "
     "output_qk: tensor<?>);",
     group_query_attention},
};

}  // namespace

extern const OnnxModule group_query_onnx;
const OnnxModule group_query_onnx = {"group_query", kOps};

}  // namespace rill::ops
