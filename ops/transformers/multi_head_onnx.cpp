// Reads the attentions of com.microsoft.

#include <array>

#include "ops/transformers/onnx_heads.h"

namespace rill::ops {
namespace {

/// Split a list of all biases into parts of these widths, and add them. Keys and values with an
/// axis of heads come from an earlier step, and include their biases already.
Status add_biases(Formula& f, OutletId bias, std::array<OutletId*, 3> parts) {
  Dim at = 0;
  for (OutletId* part : parts) {
    if (!f.ok()) return f.take_status();
    if (f.rank(*part) == 4 && part != parts[0]) break;
    const Dim width = f.dim(*part, 2);
    RILL_CHECK(f.rank(*part) == 3, "a bias for ", f.fact(*part), ": expected rank 3");
    *part = f.plus(*part, f.slice(bias, 0, at, at + width));
    at += width;
  }
  return f.take_status();
}

Result<Value> multi_head(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const int64_t heads, ctx.integer("num_heads"));
  OutletId query = f.arg("query");
  if (!ctx.given("key") || !ctx.given("value")) {
    return fail(Code::kUnsupported, "query, key and value in one input, expected three");
  }
  OutletId key = f.arg("key");
  OutletId value = f.arg("value");
  if (ctx.given("bias")) RILL_TRY(add_biases(f, f.arg("bias"), {&query, &key, &value}));
  OnnxHeads parts;
  RILL_ASSIGN(parts.q, split_heads(f, query, heads));
  RILL_ASSIGN(parts.k, split_heads(f, key, heads));
  RILL_ASSIGN(parts.v, split_heads(f, value, heads));
  if (ctx.given("past_key")) {
    parts.past = f.dim(f.arg("past_key"), 2);
    parts.k = f.concat({f.arg("past_key"), parts.k}, 2);
  }
  if (ctx.given("past_value")) parts.v = f.concat({f.arg("past_value"), parts.v}, 2);
  if (ctx.given("key_padding_mask")) {
    RILL_ASSIGN(parts.mask, onnx_mask(ctx, f, f.arg("key_padding_mask"), parts));
  }
  if (ctx.given("attention_bias")) parts.bias = f.arg("attention_bias");
  RILL_ASSIGN(parts.causal, ctx.boolean("unidirectional"));
  RILL_ASSIGN(const OutletId out, onnx_attended(ctx, f, parts));
  return f.values({out, parts.k, parts.v});
}

Result<Value> attention(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId product = f.matmul(f.arg("input"), f.arg("weights"));
  if (ctx.given("bias")) product = f.plus(product, f.arg("bias"));
  return onnx_attention(ctx, f, product);
}

#define RILL_ONNX_HEADS                                                             \
  "mask_filter_value: scalar = -10000.0, num_heads: integer, scale: scalar = 0.0, " \
  "unidirectional: logical = false"

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment MultiHeadAttention(query: tensor<?>, key: tensor<?> = false, "
     "value: tensor<?> = false, bias: tensor<?> = false, key_padding_mask: tensor<?> = false, "
     "attention_bias: tensor<?> = false, past_key: tensor<?> = false, "
     "past_value: tensor<?> = false, " RILL_ONNX_HEADS ") "
     "-> (output: tensor<?>, present_key: tensor<?>, present_value: tensor<?>);",
     multi_head},
    {"com.microsoft", 1,
     "fragment Attention(input: tensor<?>, weights: tensor<?>, bias: tensor<?> = false, "
     "mask_index: tensor<?> = false, past: tensor<?> = false, attention_bias: tensor<?> = "
     "false, " RILL_ONNX_HEADS ", qkv_hidden_sizes: integer[] = []) "
     "-> (output: tensor<?>, present: tensor<?>);",
     attention},
};

}  // namespace

extern const OnnxModule multi_head_onnx;
const OnnxModule multi_head_onnx = {"multi_head", kOps};

}  // namespace rill::ops
