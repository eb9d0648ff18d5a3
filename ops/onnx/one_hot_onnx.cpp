// How ONNX's OneHot is read.

#include "ops/array/common.h"
#include "ops/math/formula.h"

namespace rill::ops {
namespace {

/// Indices may be of any type of numbers, negative ones count from the end, and others give `off`
/// everywhere. Both values come from a list of two, of any type.
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

const OnnxOp kOps[] = {
    {"", 9,
     "fragment OneHot(indices: tensor<?>, depth: tensor<?>, values: tensor<?>, "
     "axis: integer = -1) -> (output: tensor<?>);",
     one_hot},
};

}  // namespace

extern const OnnxRoom one_hot_onnx;
const OnnxRoom one_hot_onnx = {"one_hot", kOps};

}  // namespace rill::ops
