// Caches that grow from run to run. Shapes are known before a run and a plan holds no memory that
// grows, so the caller owns a cache: it becomes an input of the model with the cache's name, and
// the grown cache an output, `<name>_concat`. tract's transform `unfold_kv_cache` does the same.
// Caches that tract stores as integers keep their type here. If the operator does not state the
// length of the past, `past_symbol` may name it, P by default; tract has no such argument.
// Source: tract, `tract_transformers_dyn_kv_cache`, `tract_transformers_quantized_dyn_kv_cache`,
// `tract_transformers_quantized_kv_sdpa`.

#include <cmath>

#include "ops/array/axis_argument.h"
#include "ops/array/common.h"
#include "ops/math/wiring.h"
#include "ops/nn/einsum.h"
#include "ops/nn/softmax.h"

namespace rill::ops {
namespace {

/// Add an input with the past, and an output with the past and the new frames.
OutletId unfolded(Wiring& w, const std::string& name, Fact past, OutletId now, int axis) {
  if (!w.ok()) return {};
  Graph& graph = w.ctx().graph();
  const OutletId cache = graph.add_source(graph.unique_name(name), std::move(past));
  const OutletId all = w.concat({cache, now}, axis);
  if (w.ok()) graph.add_output(name + "_concat", all);
  return all;
}

Result<DType> cache_type(LoadCtx& ctx) {
  RILL_ASSIGN(const std::string name, ctx.text("datum_type"));
  const auto found = dtype_from_name(name);
  if (found && is_float(*found)) return *found;
  return fail(Code::kDType, "datum_type \"", name, "\": expected a float type");
}

Result<Value> load_cache(LoadCtx& ctx) {
  RILL_ASSIGN(const std::string name, ctx.text("name"));
  RILL_ASSIGN(const DType type, cache_type(ctx));
  RILL_ASSIGN(const std::vector<Dim> past, ctx.dims("past_sequence_shape"));
  RILL_ASSIGN(const std::vector<Dim> now, ctx.dims("input_sequence_shape"));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  Wiring w(ctx);
  const OutletId x = w.arg("input");
  if (!w.ok()) return w.take_status();
  const Fact in = w.fact(x);
  RILL_ASSIGN(const int64_t axis, axis_in(written, in.rank()));
  RILL_CHECK(!name.empty() && past.size() == in.shape.size() && now.size() == in.shape.size(),
             "cache \"", name, "\" of ", past, " and ", now, " for input ", in);
  if (in.dtype != type)
    return fail(Code::kDType, "input ", in, " of a cache of ", dtype_name(type));
  return w.done(unfolded(w, name, Fact::of(type, past), x, static_cast<int>(axis)));
}

/// Return softmax(q k^T scale) v over all keys; several heads of q share one of k and v.
OutletId attention(Wiring& w, OutletId q, OutletId k, OutletId v, const Dim& per, float scale) {
  const Fact query = w.fact(q);
  const std::vector<Dim> grouped{query.dim(0), w.fact(k).dim(1), per, query.dim(2), query.dim(3)};
  const OutletId scores = add_einsum(w, "bhrtd,bhsd->bhrts", {w.reshape(q, grouped), k});
  const std::vector<int64_t> last{4};
  const OutletId weights = w.add(make_op<Softmax>(last, false), {w.times(scores, w.number(scale))});
  return w.reshape(add_einsum(w, "bhrts,bhsd->bhrtd", {weights, v}), query.shape);
}

Result<Value> load_attention(LoadCtx& ctx) {
  Wiring w(ctx);
  const OutletId q = w.arg("q");
  OutletId k = w.arg("k");
  OutletId v = w.arg("v");
  if (!w.ok()) return w.take_status();
  const Fact in = w.fact(q);
  const Fact keys = w.fact(k);
  RILL_CHECK(in.rank() == 4 && keys.rank() == 4 && w.rank(v) == 4 && is_float(in.dtype), "q ", in,
             ", k ", keys, ", v ", w.fact(v), ": expected floats [batch, heads, frames, width]");
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, 4));
  RILL_CHECK(axis == 2, "axis ", axis, ": expected 2, that of the frames");
  const auto per = exact_div(in.dim(1), keys.dim(1));
  RILL_CHECK(per, in.dim(1), " query heads for ", keys.dim(1), " of keys: expected a multiple");
  RILL_ASSIGN(const Value given, ctx.value("scale"));
  RILL_ASSIGN(const int64_t width, in.dim(3).as_int());
  float scale = 1.0F / std::sqrt(static_cast<float>(width));
  if (!given.get<bool>()) {
    RILL_ASSIGN(scale, ctx.number("scale"));
  }
  Graph& graph = ctx.graph();
  RILL_ASSIGN(std::string symbol, ctx.text("past_symbol"));
  if (symbol.empty()) symbol = graph.scope.fresh("P");
  graph.scope.declare(symbol);
  const auto past_of = [&](OutletId wire) {
    Fact past = w.fact(wire).without_value();
    past.shape[2] = Dim::symbol(symbol);
    return past;
  };
  const std::string name = ctx.assigned_name();
  k = unfolded(w, name + "_keys", past_of(k), k, 2);
  v = unfolded(w, name + "_values", past_of(v), v, 2);
  const OutletId out = attention(w, w.cast(q, DType::kF32), w.cast(k, DType::kF32),
                                 w.cast(v, DType::kF32), *per, scale);
  return w.done(w.cast(out, in.dtype));
}

constexpr NnefOp kOps[] = {
    {"tract_transformers",
     "fragment tract_transformers_dyn_kv_cache(input: tensor<scalar>, name: string,"
     " axis: integer, datum_type: string, past_sequence_shape: integer[],"
     " input_sequence_shape: integer[]) -> (output: tensor<scalar>);",
     load_cache},
    {"tract_transformers",
     "fragment tract_transformers_quantized_dyn_kv_cache(input: tensor<scalar>, name: string,"
     " axis: integer, bits: integer = 8, per_channel: logical = false, datum_type: string,"
     " past_sequence_shape: integer[], input_sequence_shape: integer[])"
     " -> (output: tensor<scalar>);",
     load_cache},
    {"tract_transformers",
     "fragment tract_transformers_quantized_kv_sdpa(q: tensor<scalar>, k: tensor<scalar>,"
     " v: tensor<scalar>, axis: integer, scale: scalar = false, past_symbol: string = '')"
     " -> (output: tensor<scalar>);",
     load_attention},
};

}  // namespace

extern const OpModule kv_cache_module;
const OpModule kv_cache_module = {"kv_cache", kOps};

}  // namespace rill::ops
