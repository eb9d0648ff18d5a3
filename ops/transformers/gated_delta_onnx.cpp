// Reads ONNX's LinearAttention.

#include "ops/math/formula.h"

namespace rill::ops {
namespace {

/// The attributes of the node: its heads and its rule.
struct Form {
  int64_t queries = 0;  ///< heads
  int64_t values = 0;
  float scale = 0.0F;
  bool decays = false;
  bool corrects = false;
};

Result<Form> form_of(OnnxCtx& ctx) {
  Form form;
  RILL_ASSIGN(form.queries, ctx.integer("q_num_heads"));
  RILL_ASSIGN(form.values, ctx.integer("kv_num_heads"));
  RILL_ASSIGN(form.scale, ctx.number("scale"));
  RILL_ASSIGN(const std::string rule, ctx.text("update_rule"));
  RILL_CHECK(form.values > 0 && form.queries > 0 && form.queries % form.values == 0,
             form.queries, " heads of queries for ", form.values,
             " of keys: expected a positive multiple");
  form.decays = rule == "gated" || rule == "gated_delta";
  form.corrects = rule == "delta" || rule == "gated_delta";
  if (!form.decays && !form.corrects && rule != "linear") {
    return fail(Code::kArg, "attribute \"update_rule\" is \"", rule,
                "\": expected linear, gated, delta or gated_delta");
  }
  for (const auto& [name, wanted] : {std::pair{"decay", form.decays}, {"beta", form.corrects}}) {
    RILL_CHECK(ctx.given(name) == wanted, "update_rule \"", rule, "\" ",
               wanted ? "needs" : "takes no", " input \"", name, "\"");
  }
  return form;
}

/// Reshape [B, T, heads * size] to [B, T, heads, size], in f32.
Result<OutletId> with_heads(OnnxCtx& ctx, Formula& f, const char* name, int64_t heads,
                            const Fact& query) {
  const OutletId x = f.cast(f.arg(name), DType::kF32);
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(x);
  RILL_CHECK(in.rank() == 3, name, " ", in, ": expected rank 3");
  RILL_TRY(ctx.take_as_equal(in.dim(0), query.dim(0)));
  RILL_TRY(ctx.take_as_equal(in.dim(1), query.dim(1)));
  const auto size = exact_div(in.dim(2), Dim(heads));
  RILL_CHECK(size, name, " ", in, ": expected a multiple of ", heads, " on the last axis");
  return f.reshape(x, {query.dim(0), query.dim(1), Dim(heads), *size});
}

Result<Value> linear_attention(OnnxCtx& ctx) {
  Formula f(ctx);
  RILL_ASSIGN(const Form form, form_of(ctx));
  const Fact query = f.fact(f.arg("query"));
  if (!f.ok()) return f.take_status();
  RILL_CHECK(query.rank() == 3, "query ", query, ": expected rank 3");
  RILL_ASSIGN(const OutletId q, with_heads(ctx, f, "query", form.queries, query));
  RILL_ASSIGN(const OutletId k, with_heads(ctx, f, "key", form.values, query));
  RILL_ASSIGN(const OutletId v, with_heads(ctx, f, "value", form.values, query));
  std::vector<Dim> gates{query.dim(0), query.dim(1), Dim(form.values)};
  std::vector<OnnxCtx::Argument> arguments{
      {"query", Value(q)}, {"key", Value(k)}, {"value", Value(v)}, {"scale", Value(form.scale)}};
  if (form.decays) {
    RILL_ASSIGN(OutletId decay, with_heads(ctx, f, "decay", form.values, query));
    if (f.dim(decay, 3) == Dim(1)) decay = f.reshape(decay, gates);
    arguments.push_back({"log_decay", Value(decay)});
  }
  if (form.corrects) {
    RILL_ASSIGN(const OutletId beta, with_heads(ctx, f, "beta", 1, query));
    arguments.push_back({"beta", Value(f.broadcast(f.without_axis(beta, 2), gates))});
  }
  const std::vector<Dim> square{query.dim(0), Dim(form.values), f.dim(q, 3), f.dim(v, 3)};
  DType kept = query.dtype;
  OutletId past;
  if (ctx.given("past_state")) {
    past = f.arg("past_state");
    kept = f.dtype(past);
    for (int i = 0; i < f.rank(past) && i < 4; ++i) {
      RILL_TRY(ctx.take_as_equal(f.dim(past, i), square[static_cast<size_t>(i)]));
    }
    past = f.cast(past, DType::kF32);
  } else {
    past = f.broadcast(f.number(0.0, q), square);
  }
  if (!f.ok()) return f.take_status();
  arguments.push_back({"initial_state", Value(past)});
  RILL_ASSIGN(const Value made, ctx.call("rill_onnx_linear_attention", arguments));
  const auto& outs = *made.get<std::vector<Value>>();
  const OutletId y = f.reshape(*outs[0].get<OutletId>(),
                               {query.dim(0), query.dim(1), Dim(form.queries) * f.dim(v, 3)});
  return f.values({f.cast(y, query.dtype), f.cast(*outs[1].get<OutletId>(), kept)});
}

const OnnxOp kOps[] = {
    {"", 27,
     "fragment LinearAttention(query: tensor<?>, key: tensor<?>, value: tensor<?>, "
     "past_state: tensor<?> = false, decay: tensor<?> = false, beta: tensor<?> = false, "
     "chunk_size: integer = 64, kv_num_heads: integer, q_num_heads: integer, "
     "scale: scalar = 0.0, update_rule: string = 'gated_delta') "
     "-> (output: tensor<?>, present_state: tensor<?>);",
     linear_attention},
};

}  // namespace

extern const OnnxModule gated_delta_onnx;
const OnnxModule gated_delta_onnx = {"gated_delta", kOps};

}  // namespace rill::ops
