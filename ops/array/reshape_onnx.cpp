// Reads ONNX's Reshape and Flatten.

#include "core/base/search.h"
#include "core/graph/onnx.h"
#include "ops/array/reshape.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

/// Return the extent for -1: the volume of the input divided by the other extents.
Result<Dim> rest_of(const Fact& in, const std::vector<Dim>& to, size_t open) {
  Dim others = 1;
  // Extents that both shapes share cancel.
  std::vector<Dim> left = in.shape;
  for (size_t i = 0; i < to.size(); ++i) {
    if (i == open) continue;
    const auto same = find(left, to[i]);
    if (same != left.end() && !(to[i] == Dim(0))) {
      left.erase(same);
    } else {
      others *= to[i];
    }
  }
  const Dim whole = volume(left);
  const auto rest = exact_div(whole, others);
  if (rest) return *rest;
  const auto number = others.to_int();
  if (!number || *number <= 0 || whole.is_const()) {
    return fail(Code::kShape, in, " cannot become ", to, ": ", whole, " elements in parts of ",
                others);
  }
  return floor_div(whole, *number);
}

Result<Value> reshape(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("data"));
  RILL_ASSIGN(std::vector<Dim> to, computed_dims(ctx, "shape"));
  int64_t allow_zero = 0;
  if (ctx.has("allowzero")) {
    RILL_ASSIGN(allow_zero, ctx.integer("allowzero"));
  }
  const Fact in = ctx.fact(x);
  std::optional<size_t> open;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Dim(0) && allow_zero == 0) {
      RILL_CHECK(static_cast<int>(i) < in.rank(), "extent ", i, " is 0, for that of the input, ",
                 in, ", which has none");
      to[i] = in.shape[i];
    }
    if (!(to[i] == Dim(-1))) continue;
    RILL_CHECK(!open, "shape ", to, " has -1 twice");
    open = i;
  }
  if (open) {
    RILL_ASSIGN(to[*open], rest_of(in, to, *open));
  }
  return ctx.add_value(make_op<Reshape>(0, in.rank(), std::move(to)), {x});
}

Result<Value> flatten(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(int64_t axis, ctx.integer("axis"));
  const Fact in = ctx.fact(x);
  if (axis < 0) axis += in.rank();
  RILL_CHECK(axis >= 0 && axis <= in.rank(), "no axis ", axis, " in ", in);
  const std::span<const Dim> shape(in.shape);
  const auto front = static_cast<size_t>(axis);
  std::vector<Dim> to = {volume(shape.first(front)), volume(shape.subspan(front))};
  return ctx.add_value(make_op<Reshape>(0, in.rank(), std::move(to)), {x});
}

const OnnxOp kOps[] = {
    {"", 5, "fragment Reshape(data: tensor<?>, shape: tensor<integer>) -> (reshaped: tensor<?>);",
     reshape},
    {"", 14,
     "fragment Reshape(data: tensor<?>, shape: tensor<integer>, allowzero: integer = 0) "
     "-> (reshaped: tensor<?>);",
     reshape},
    {"", 1, "fragment Flatten(input: tensor<?>, axis: integer = 1) -> (output: tensor<?>);",
     flatten},
};

}  // namespace

extern const OnnxModule reshape_onnx;
const OnnxModule reshape_onnx = {"reshape", kOps};

}  // namespace rill::ops
