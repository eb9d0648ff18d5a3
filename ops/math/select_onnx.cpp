// Reads ONNX's selections and masks.

#include "ops/array/common.h"
#include "ops/math/formula.h"
#include "ops/math/numpy.h"
#include "ops/math/select.h"

namespace rill::ops {
namespace {

Result<Value> where(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId condition, ctx.wire("condition"));
  RILL_ASSIGN(const OutletId x, ctx.wire("X"));
  RILL_ASSIGN(const OutletId y, ctx.wire("Y"));
  RILL_ASSIGN(std::vector<OutletId> wires, numpy_operands(ctx, {condition, x, y}));
  return ctx.add_value(make_op<Select>(), wires);
}

/// Read OneHot. Indices may be numbers of any type. Negative ones count from the end, and those out
/// of range give `off` everywhere. Both values, of any type, come from one list.
Result<Value> one_hot(OnnxCtx& ctx) {
  Formula f(ctx);
  OutletId indices = f.cast(f.arg("indices"), DType::kI64);
  const OutletId values = f.arg("values");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const Dim depth, ctx.dim("depth"));
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  const int rank = f.rank(indices);
  RILL_ASSIGN(const int64_t axis, axis_in(written, rank + 1));
  const OutletId below = f.binary(BinaryKind::kLt, indices, f.number(0.0, indices));
  indices = f.select(below, f.plus(indices, f.number(depth, indices)), indices);
  OutletId positions = f.range(depth);
  for (int64_t i = axis; i < rank; ++i) positions = f.with_axis(positions, i - axis + 1);
  const OutletId hit = f.binary(BinaryKind::kEq, f.with_axis(indices, axis), positions);
  const OutletId off = f.without_axis(f.slice(values, 0, Dim(0), Dim(1)), 0);
  const OutletId on = f.without_axis(f.slice(values, 0, Dim(1), Dim(2)), 0);
  return f.value(f.select(hit, on, off));
}

/// Read EyeLike: ones where the column equals the row plus `k`.
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

/// Read Dropout: inference drops nothing, so the mask is all true.
Result<Value> dropout(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("data");
  if (!f.ok()) return f.take_status();
  if (ctx.has("training_mode") && ctx.given("training_mode")) {
    RILL_ASSIGN(const bool training, ctx.boolean("training_mode"));
    float ratio = 0.5F;
    if (training && ctx.given("ratio")) {
      RILL_ASSIGN(ratio, ctx.number("ratio"));
    }
    if (training && ratio != 0.0F) {
      return fail(Code::kUnsupported, "input \"training_mode\" is true: rill does not train");
    }
  }
  if (!ctx.wants(1)) return as_value(x);
  const OutletId one = ctx.opset() < 10 ? f.number(1.0, x) : f.konst(Tensor::scalar(true));
  return f.values({x, f.broadcast(one, f.fact(x).shape)});
}

const OnnxOp kOps[] = {
    {"", 9, "fragment Where(condition: tensor<logical>, X: tensor<?>, Y: tensor<?>) "
            "-> (output: tensor<?>);",
     where},
    {"", 9,
     "fragment OneHot(indices: tensor<?>, depth: tensor<?>, values: tensor<?>, "
     "axis: integer = -1) -> (output: tensor<?>);",
     one_hot},
    {"", 9,
     "fragment EyeLike(input: tensor<?>, dtype: integer = 1, k: integer = 0) "
     "-> (output: tensor<?>);",
     eye_like},
    {"", 7, "fragment Dropout(data: tensor<?>, ratio: scalar = 0.5) "
            "-> (output: tensor<?>, mask: tensor<?>);",
     dropout},
    {"", 12, "fragment Dropout(data: tensor<?>, ratio: tensor<?> = false, "
             "training_mode: tensor<logical> = false, seed: integer = 0) "
             "-> (output: tensor<?>, mask: tensor<?>);",
     dropout},
};

}  // namespace

extern const OnnxModule select_onnx;
const OnnxModule select_onnx = {"select", kOps};

}  // namespace rill::ops
