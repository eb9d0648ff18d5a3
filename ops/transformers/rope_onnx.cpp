// Reads ONNX's RotaryEmbedding.

#include "ops/transformers/onnx_rotary.h"

namespace rill::ops {
namespace {

/// Return the rows of a table at the positions: [batch, frames, 1, half].
OutletId rows_of(OnnxCtx& ctx, Formula& f, const char* name) {
  OutletId table = f.arg(name);
  if (ctx.given("position_ids")) {
    table = f.call("tract_core_gather", {{"input", Value(table)},
                                         {"indices", Value(f.arg("position_ids"))},
                                         {"axis", Value(Dim(0))}});
  }
  return f.with_axis(table, 2);
}

/// Return the number of heads, each twice as wide as the tables, if the node does not state it.
Result<int64_t> heads_of_tables(Formula& f, const Fact& in) {
  const OutletId table = f.arg("cos_cache");
  if (!f.ok()) return f.take_status();
  const Dim width = f.dim(table, f.rank(table) - 1) * Dim(2);
  const auto heads = exact_div(in.dim(2), width);
  RILL_CHECK(heads, "input ", in, " and tables ", f.fact(table),
             ": expected heads of twice their width, or attribute \"num_heads\"");
  return heads->as_int();
}

Result<Value> rotary_embedding(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId given = f.arg("X");
  if (!f.ok()) return f.take_status();
  const Fact in = f.fact(given);
  RILL_CHECK(in.rank() == 3 || in.rank() == 4, "input ", in, ": expected rank 3 or 4");
  RILL_ASSIGN(int64_t heads, ctx.integer("num_heads"));
  if (heads == 0 && in.rank() == 3) {
    RILL_ASSIGN(heads, heads_of_tables(f, in));
  }
  RILL_ASSIGN(const bool interleaved, ctx.boolean("interleaved"));
  RILL_ASSIGN(int64_t rotated_size, ctx.integer("rotary_embedding_dim"));
  OutletId x = given;
  if (in.rank() == 4) {
    x = f.transpose(x, {0, 2, 1, 3});
  } else {
    const auto size = exact_div(in.dim(2), Dim(heads));
    RILL_CHECK(size, "input ", in, ": expected a multiple of ", heads, " on the last axis");
    x = f.reshape(x, {in.dim(0), in.dim(1), Dim(heads), *size});
  }
  RILL_ASSIGN(const int64_t whole, f.dim(x, 3).as_int());
  if (rotated_size == 0) rotated_size = whole;
  RILL_CHECK(rotated_size > 0 && rotated_size <= whole && rotated_size % 2 == 0,
             "rotary_embedding_dim ", rotated_size, " of ", whole,
             ": expected an even number of them");
  const OutletId out = rotated(f, x, rows_of(ctx, f, "cos_cache"), rows_of(ctx, f, "sin_cache"),
                               rotated_size / 2, interleaved);
  if (in.rank() == 4) return f.value(f.transpose(out, {0, 2, 1, 3}));
  return f.value(f.reshape(out, in.shape));
}

/// Read com.microsoft's form. A single first position for all frames depends on data: refused.
Result<Value> rotary_of_caches(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId ids, ctx.wire("position_ids"));
  RILL_ASSIGN(const float scale, ctx.number("scale"));
  if (ctx.fact(ids).rank() != 2 || scale != 1.0F) {
    return fail(Code::kUnsupported, "position_ids ", ctx.fact(ids), " and a scale of ", scale,
                ": expected [batch, frames] and 1");
  }
  return rotary_embedding(ctx);
}

const OnnxOp kOps[] = {
    {"com.microsoft", 1,
     "fragment RotaryEmbedding(X: tensor<?>, position_ids: tensor<integer>, "
     "cos_cache: tensor<?>, sin_cache: tensor<?>, interleaved: logical = false, "
     "num_heads: integer = 0, rotary_embedding_dim: integer = 0, scale: scalar = 1.0) "
     "-> (Y: tensor<?>);",
     rotary_of_caches, Rounding::kOnce},
    {"", 23,
     "fragment RotaryEmbedding(X: tensor<?>, cos_cache: tensor<?>, sin_cache: tensor<?>, "
     "position_ids: tensor<integer> = false, interleaved: logical = false, "
     "num_heads: integer = 0, rotary_embedding_dim: integer = 0) -> (Y: tensor<?>);",
     rotary_embedding, Rounding::kOnce},
};

}  // namespace

extern const OnnxModule rope_onnx;
const OnnxModule rope_onnx = {"rope", kOps};

}  // namespace rill::ops
