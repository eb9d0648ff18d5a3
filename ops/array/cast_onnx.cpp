// Reads ONNX's casts, and its operators that return types, shapes and sizes.

#include <algorithm>

#include "core/graph/onnx.h"
#include "ops/array/cast.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

/// Return sizes that were computed in floats, such as quotients that were rounded, as integers.
/// Nothing for other wires.
Result<std::optional<Value>> sizes_again(OnnxCtx& ctx, OutletId x, DType to) {
  const Fact& fact = ctx.fact(x);
  if (fact.konst || !is_float(fact.dtype) || (to != DType::kI64 && to != DType::kI32)) {
    return std::optional<Value>();
  }
  auto sizes = symbolic_values(ctx.graph(), x);
  const auto shape = fact.concrete_shape();
  if (!sizes || !shape.ok()) return std::optional<Value>();
  for (Dim& size : *sizes) size = ctx.graph().scope.simplify(size);
  RILL_ASSIGN(Tensor list, Tensor::dims(*sizes).reshaped(*shape));
  RILL_ASSIGN(const OutletId out, ctx.konst(std::move(list)));
  return std::optional(Value(out));
}

/// Sizes stay dims when cast to integers, since later results may be sizes again.
Result<Value> cast_wire(OnnxCtx& ctx, OutletId x, DType to) {
  const DType from = ctx.fact(x).dtype;
  if (from == to || (from == DType::kDim && (to == DType::kI64 || to == DType::kI32))) {
    return as_value(x);
  }
  RILL_ASSIGN(auto sizes, sizes_again(ctx, x, to));
  if (sizes) return *std::move(sizes);
  return ctx.add_value(make_op<Cast>(to), {x});
}

Result<Value> cast_to_number(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const int64_t to, ctx.integer("to"));
  const auto type = onnx_type(to);
  if (!type || *type == DType::kString || ctx.fact(x).dtype == DType::kString) {
    return fail(Code::kUnsupported, "a cast from ", dtype_name(ctx.fact(x).dtype), " to ",
                onnx_type_name(to));
  }
  return cast_wire(ctx, x, *type);
}

Result<Value> cast_like(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const OutletId like, ctx.wire("target_type"));
  return cast_wire(ctx, x, ctx.fact(like).dtype);
}

Result<Value> identity(OnnxCtx& ctx) { return as_value(ctx.wire("input")); }

/// Return integers, or dims if an entry contains a symbol.
Result<Value> sizes(OnnxCtx& ctx, const std::vector<Dim>& list, std::vector<int64_t> shape) {
  std::vector<int64_t> numbers;
  for (const Dim& dim : list) {
    if (const auto number = dim.to_int()) numbers.push_back(*number);
  }
  Tensor flat = Tensor::dims(list);
  if (numbers.size() == list.size()) {
    RILL_ASSIGN(flat, Tensor::of<int64_t>(DType::kI64, {static_cast<int64_t>(list.size())},
                                          std::span<const int64_t>(numbers)));
  }
  RILL_ASSIGN(Tensor out, flat.reshaped(std::move(shape)));
  return as_value(ctx.konst(std::move(out)));
}

Result<Value> shape_of(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("data"));
  ctx.graph().read_shape(x);
  const std::vector<Dim> shape = ctx.fact(x).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  int64_t begin = 0;
  int64_t end = rank;
  if (ctx.has("start")) {
    RILL_ASSIGN(begin, ctx.integer("start"));
  }
  if (ctx.given("end")) {
    RILL_ASSIGN(end, ctx.integer("end"));
  }
  begin = std::clamp<int64_t>(begin < 0 ? begin + rank : begin, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, begin, rank);
  const std::vector<Dim> part(shape.begin() + begin, shape.begin() + end);
  return sizes(ctx, part, {end - begin});
}

Result<Value> size_of(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("data"));
  ctx.graph().read_shape(x);
  return sizes(ctx, {volume(ctx.fact(x).shape)}, {});
}

const OnnxOp kOps[] = {
    {"", 6, "fragment Cast(input: tensor<?>, to: integer) -> (output: tensor<?>);", cast_to_number},
    {"", 19,
     "fragment Cast(input: tensor<?>, to: integer, saturate: integer = 1) -> (output: tensor<?>);",
     cast_to_number},
    {"", 24,
     "fragment Cast(input: tensor<?>, to: integer, saturate: integer = 1, "
     "round_mode: string = 'up') -> (output: tensor<?>);",
     cast_to_number},
    {"", 15,
     "fragment CastLike(input: tensor<?>, target_type: tensor<?>) -> (output: tensor<?>);",
     cast_like},
    {"", 19,
     "fragment CastLike(input: tensor<?>, target_type: tensor<?>, saturate: integer = 1) "
     "-> (output: tensor<?>);",
     cast_like},
    {"", 24,
     "fragment CastLike(input: tensor<?>, target_type: tensor<?>, saturate: integer = 1, "
     "round_mode: string = 'up') -> (output: tensor<?>);",
     cast_like},
    {"", 1, "fragment Identity(input: tensor<?>) -> (output: tensor<?>);", identity},
    {"", 1, "fragment Shape(data: tensor<?>) -> (shape: tensor<integer>);", shape_of},
    {"", 15,
     "fragment Shape(data: tensor<?>, start: integer = 0, end: integer = 0) "
     "-> (shape: tensor<integer>);",
     shape_of},
    {"", 1, "fragment Size(data: tensor<?>) -> (size: tensor<integer>);", size_of},
};

}  // namespace

extern const OnnxModule cast_onnx;
const OnnxModule cast_onnx = {"cast", kOps};

}  // namespace rill::ops
