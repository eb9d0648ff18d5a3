// How ONNX's operators on diagonals are read.

#include "ops/array/trilu.h"
#include "ops/array/symbolic.h"
#include "ops/math/formula.h"

namespace rill::ops {
namespace {

Result<Value> triangle(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  auto op = std::make_shared<Trilu>();
  if (ctx.given("k")) {
    RILL_ASSIGN(op->k, ctx.dim("k"));
  } else {
    op->k = Dim(0);
  }
  RILL_ASSIGN(op->upper, ctx.boolean("upper"));
  RILL_ASSIGN(const OutletId out, ctx.add1(std::move(op), {x}));
  return Value(out);
}

/// Ones where the column is the row plus `k`.
Result<Value> eye_like(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  if (!f.ok()) return f.take_status();
  RILL_CHECK(f.rank(x) == 2, "input ", f.fact(x), ": expected rank 2");
  DType type = f.fact(x).dtype;
  if (ctx.given("dtype")) {
    RILL_ASSIGN(const int64_t number, ctx.integer("dtype"));
    const auto named = onnx_type(number);
    if (!named) return fail(Code::kUnsupported, "a matrix of ", onnx_type_name(number));
    type = *named;
  }
  RILL_ASSIGN(const int64_t k, ctx.integer("k"));
  const OutletId columns = f.range(f.dim(x, 1));
  OutletId rows = f.range(f.dim(x, 0));
  rows = f.with_axis(f.plus(rows, f.number(Dim(k), rows)), 1);
  return f.value(f.cast(f.binary(BinaryKind::kEq, columns, rows), type));
}

const OnnxOp kOps[] = {
    {"", 14,
     "fragment Trilu(input: tensor<?>, k: tensor<integer> = false, upper: logical = true) "
     "-> (output: tensor<?>);",
     triangle},
    {"", 9,
     "fragment EyeLike(input: tensor<?>, dtype: integer = 1, k: integer = 0) "
     "-> (output: tensor<?>);",
     eye_like},
};

}  // namespace

extern const OnnxRoom trilu_onnx;
const OnnxRoom trilu_onnx = {"trilu", kOps};

}  // namespace rill::ops
