// Reads ONNX's Gather, GatherElements, GatherND and Compress.

#include "core/graph/onnx.h"
#include "ops/array/axis_argument.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/gather.h"
#include "ops/array/reshape.h"

namespace rill::ops {
namespace {

template <class T>
Result<Value> gather(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("data"));
  RILL_ASSIGN(const OutletId indices, ctx.wire("indices"));
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, ctx.fact(data).rank()));
  return ctx.add_value(make_op<T>(axis), {data, indices});
}

/// Bypass a gather of the only entry of an axis: exporters write it around computed sizes.
Result<Value> gather_rows(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("data"));
  RILL_ASSIGN(const OutletId indices, ctx.wire("indices"));
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, ctx.fact(data).rank()));
  const TensorPtr& place = ctx.fact(indices).konst;
  const bool one = ctx.fact(data).dim(static_cast<int>(axis)) == Dim(1);
  if (one && place && place->rank() == 0) {
    RILL_ASSIGN(const Dim at, element_as_dim(*place, 0));
    if (at == Dim(0) || at == Dim(-1)) {
      return ctx.add_value(make_op<RmAxis>(axis), {data});
    }
  }
  return gather<Gather>(ctx);
}

Result<Value> gather_nd(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId data, ctx.wire("data"));
  RILL_ASSIGN(const OutletId indices, ctx.wire("indices"));
  int64_t batches = 0;
  if (ctx.has("batch_dims")) {
    RILL_ASSIGN(batches, ctx.integer("batch_dims"));
  }
  return ctx.add_value(make_op<GatherNd>(batches), {data, indices});
}

/// Return the flat positions of the nonzero elements of a constant, in order.
Result<std::vector<int64_t>> positions_in(const Tensor& values) {
  std::vector<int64_t> out;
  RILL_ASSIGN(const Tensor numbers, cast(values, DType::kF64));
  const auto all = numbers.values<double>();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0.0) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

Result<OutletId> indices_of(OnnxCtx& ctx, std::vector<int64_t> shape,
                            const std::vector<int64_t>& values) {
  RILL_ASSIGN(Tensor list, Tensor::of<int64_t>(DType::kI64, std::move(shape),
                                               std::span<const int64_t>(values)));
  return ctx.konst(std::move(list), "indices");
}

/// Read Compress. The condition must be constant, since it decides the number of kept entries.
Result<Value> compress(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const TensorPtr condition, ctx.constant("condition"));
  RILL_ASSIGN(const std::vector<int64_t> kept, positions_in(*condition));
  int64_t axis = 0;
  if (ctx.given("axis")) {
    RILL_ASSIGN(axis, ctx.integer("axis"));
    RILL_ASSIGN(axis, axis_in(axis, ctx.fact(x).rank()));
  } else {
    const std::vector<Dim> flat = {volume(ctx.fact(x).shape)};
    RILL_ASSIGN(x, ctx.add1(make_op<Reshape>(0, ctx.fact(x).rank(), flat), {x}, "flat"));
  }
  const auto count = static_cast<int64_t>(kept.size());
  RILL_ASSIGN(const OutletId indices, indices_of(ctx, {count}, kept));
  return ctx.add_value(make_op<Gather>(axis), {x, indices});
}

Result<Value> non_zero(OnnxCtx& ctx) {
  RILL_ASSIGN(const TensorPtr x, ctx.constant("X"));
  RILL_ASSIGN(const std::vector<int64_t> flat, positions_in(*x));
  const auto rank = static_cast<int64_t>(x->shape().size());
  const auto count = static_cast<int64_t>(flat.size());
  std::vector<int64_t> places(flat.size() * static_cast<size_t>(rank));
  for (size_t i = 0; i < flat.size(); ++i) {
    int64_t rest = flat[i];
    for (int64_t axis = rank - 1; axis >= 0; --axis) {
      const int64_t extent = x->shape()[static_cast<size_t>(axis)];
      places[static_cast<size_t>(axis * count) + i] = rest % extent;
      rest /= extent;
    }
  }
  return as_value(indices_of(ctx, {rank, count}, places));
}

const OnnxOp kOps[] = {
    {"", 9, "fragment Compress(input: tensor<?>, condition: tensor<logical>, axis: integer = 0) "
            "-> (output: tensor<?>);",
     compress},
    {"", 9, "fragment NonZero(X: tensor<?>) -> (Y: tensor<integer>);", non_zero},
    {"", 1, "fragment Gather(data: tensor<?>, indices: tensor<integer>, axis: integer = 0) "
            "-> (output: tensor<?>);",
     gather_rows},
    {"", 11,
     "fragment GatherElements(data: tensor<?>, indices: tensor<integer>, axis: integer = 0) "
     "-> (output: tensor<?>);",
     gather<GatherElements>},
    {"", 11, "fragment GatherND(data: tensor<?>, indices: tensor<integer>) -> (output: tensor<?>);",
     gather_nd},
    {"", 12,
     "fragment GatherND(data: tensor<?>, indices: tensor<integer>, batch_dims: integer = 0) "
     "-> (output: tensor<?>);",
     gather_nd},
};

}  // namespace

extern const OnnxModule gather_onnx;
const OnnxModule gather_onnx = {"gather", kOps};

}  // namespace rill::ops
