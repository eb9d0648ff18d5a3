#include "ops/transformers/onnx_heads.h"

#include <cmath>
#include <limits>

#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

/// Return which keys a list leaves unmasked: those before the end that it gives for each batch.
/// With two entries per batch, the second one is the first unmasked key. In a list of 3 * batch + 2
/// entries, the entries after the ends are not used.
Result<OutletId> open_keys(OnnxCtx& ctx, Formula& f, OutletId list, const OnnxHeads& heads) {
  const Dim batch = f.dim(heads.q, 0);
  const Dim entries = f.dim(list, 0);
  const bool starts = entries == batch * Dim(2);
  if (!starts && entries != batch * Dim(3) + Dim(2)) {
    RILL_TRY(ctx.take_as_equal(entries, batch));
  }
  const OutletId keys = f.range(f.dim(heads.k, 2));
  const auto limit = [&](int64_t part) {
    const Dim from = f.dim(heads.q, 0) * Dim(part);
    const Dim rows = f.dim(heads.q, 0);
    const OutletId own = f.cast(f.slice(list, 0, from, from + rows), DType::kI64);
    return f.reshape(own, {rows, Dim(1), Dim(1), Dim(1)});
  };
  const OutletId open = f.binary(BinaryKind::kLt, keys, limit(0));
  if (!starts) return open;
  return f.binary(BinaryKind::kAnd, open, f.binary(BinaryKind::kGe, keys, limit(1)));
}

/// Return which keys do not follow the query. There must be one key per query after the past:
/// onnxruntime would show surplus keys to the last query.
Result<OutletId> keys_up_to_query(OnnxCtx& ctx, Formula& f, OutletId scores, const Dim& past) {
  if (!f.ok()) return f.take_status();
  const Dim count = past + f.dim(scores, 2);
  if (!ctx.take_as_equal(f.dim(scores, 3), count).ok()) {
    return fail(Code::kUnsupported, "attribute \"unidirectional\" with ",
                f.dim(scores, 3).to_string(), " keys: expected ", count.to_string());
  }
  OutletId rows = f.with_axis(f.range(f.dim(scores, 2)), 1);
  rows = f.plus(rows, f.number(f.dim(scores, 3) - f.dim(scores, 2), rows));
  return f.binary(BinaryKind::kGe, rows, f.range(f.dim(scores, 3)));
}

/// Return the widths of queries, keys and values in the product of the input and the weights.
Result<std::vector<Dim>> widths_of(OnnxCtx& ctx, const Fact& product) {
  if (ctx.has("qkv_hidden_sizes") && ctx.given("qkv_hidden_sizes")) {
    RILL_ASSIGN(const std::vector<Dim> widths, ctx.dims("qkv_hidden_sizes"));
    RILL_CHECK(widths.size() == 3, "qkv_hidden_sizes has ",
               counted(widths.size(), "entry", "entries"), ", expected 3");
    return widths;
  }
  const auto width = product.rank() == 3 ? exact_div(product.dim(2), Dim(3)) : std::nullopt;
  RILL_CHECK(width, "input times weights is ", product, ": expected rank 3 and a multiple of 3");
  return std::vector<Dim>(3, *width);
}

}  // namespace

Result<OutletId> split_heads(Formula& f, OutletId x, int64_t heads) {
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  if (in.rank() == 4 && in.dim(1) == Dim(heads)) return x;
  const auto size = in.rank() == 3 && heads > 0 ? exact_div(in.dim(2), Dim(heads)) : std::nullopt;
  RILL_CHECK(size, "input ", in, ": expected [batch, frames, ", heads, " heads of equal sizes]");
  return f.transpose(f.reshape(x, {in.dim(0), in.dim(1), Dim(heads), *size}), {0, 2, 1, 3});
}

Result<OutletId> onnx_mask(OnnxCtx& ctx, Formula& f, OutletId mask, const OnnxHeads& heads) {
  if (!f.ok()) return f.take_status();
  const int rank = f.rank(mask);
  if (rank < 1 || rank > 3) {
    return fail(Code::kUnsupported, "a mask ", f.fact(mask),
                ": expected [batch], [batch, keys] or [batch, queries, keys]");
  }
  RILL_ASSIGN(const float never, ctx.number("mask_filter_value"));
  OutletId open;
  if (rank == 1) {
    RILL_ASSIGN(open, open_keys(ctx, f, mask, heads));
  } else {
    mask = f.with_axis(mask, 1);
    if (rank == 2) mask = f.with_axis(mask, 1);
    open = f.binary(BinaryKind::kGt, mask, f.number(0.0, mask));
  }
  return f.select(open, f.number(0.0, heads.q), f.number(never, heads.q));
}

Result<OutletId> onnx_attended(OnnxCtx& ctx, Formula& f, OnnxHeads heads) {
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t size, f.dim(heads.q, 3).as_int());
  RILL_ASSIGN(const float given, ctx.number("scale"));
  const double scale = given == 0.0F ? 1.0 / std::sqrt(static_cast<double>(size)) : given;
  const DType own = f.dtype(heads.v);
  for (OutletId* each : {&heads.q, &heads.k, &heads.v, &heads.mask, &heads.bias}) {
    if (each->valid()) *each = f.upcast(*each);
  }
  OutletId scores = f.matmul(f.times(heads.q, f.number(scale, heads.q)), heads.k, true);
  if (heads.causal) {
    RILL_ASSIGN(const OutletId seen, keys_up_to_query(ctx, f, scores, heads.past));
    // With a mask, later keys add the lowest float, not -infinity: if `mask_filter_value` is as low
    // and hides all earlier keys, all keys get a weight.
    using Float = std::numeric_limits<float>;
    const bool masked = heads.mask.valid();
    const OutletId never = f.number(masked ? Float::lowest() : -Float::infinity(), scores);
    heads.mask = f.select(seen, masked ? heads.mask : f.number(0.0, scores), never);
  }
  if (heads.mask.valid()) scores = f.plus(scores, heads.mask);
  if (heads.bias.valid()) scores = f.plus(scores, heads.bias);
  const OutletId weights = f.add(make_op<Softmax>(std::vector<int64_t>{3}, false), {scores});
  const OutletId sums = f.cast(f.matmul(weights, heads.v), own);
  const OutletId out = f.transpose(sums, {0, 2, 1, 3});
  if (!f.ok()) return f.take_status();
  const Fact fact = f.fact(out);
  return f.reshape(out, {fact.dim(0), fact.dim(1), fact.dim(2) * fact.dim(3)});
}

Result<Value> onnx_attention(OnnxCtx& ctx, Formula& f, OutletId product) {
  RILL_ASSIGN(const int64_t heads, ctx.integer("num_heads"));
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const std::vector<Dim> widths, widths_of(ctx, f.fact(product)));
  OnnxHeads parts;
  Dim at = 0;
  OutletId* const all[] = {&parts.q, &parts.k, &parts.v};
  for (size_t i = 0; i < 3; ++i) {
    RILL_ASSIGN(*all[i], split_heads(f, f.slice(product, 2, at, at + widths[i]), heads));
    at += widths[i];
  }
  if (ctx.given("past")) {
    const OutletId past = f.arg("past");
    parts.past = f.dim(past, 3);
    const auto side = [&](int64_t i) {
      return f.without_axis(f.slice(past, 0, Dim(i), Dim(i + 1)), 0);
    };
    parts.k = f.concat({side(0), parts.k}, 2);
    parts.v = f.concat({side(1), parts.v}, 2);
  }
  if (ctx.given("mask_index")) {
    RILL_ASSIGN(parts.mask, onnx_mask(ctx, f, f.arg("mask_index"), parts));
  }
  if (ctx.has("attention_bias") && ctx.given("attention_bias")) {
    parts.bias = f.arg("attention_bias");
  }
  RILL_ASSIGN(parts.causal, ctx.boolean("unidirectional"));
  RILL_ASSIGN(const OutletId out, onnx_attended(ctx, f, parts));
  if (!ctx.wants(1)) return f.value(out);
  return f.values({out, f.concat({f.with_axis(parts.k, 0), f.with_axis(parts.v, 0)}, 0)});
}

}  // namespace rill::ops
