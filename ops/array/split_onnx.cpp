// Reads ONNX's constants and Split.

#include "core/graph/onnx.h"
#include "ops/array/axis_argument.h"
#include "ops/array/broadcast.h"
#include "ops/array/common.h"
#include "ops/array/slice.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

template <class T>
Result<Value> list(OnnxCtx& ctx, DType dtype, const std::vector<T>& values, bool scalar) {
  std::vector<int64_t> shape;
  if (!scalar) shape.push_back(static_cast<int64_t>(values.size()));
  RILL_ASSIGN(Tensor tensor, Tensor::of<T>(dtype, std::move(shape), std::span<const T>(values)));
  return as_value(ctx.konst(std::move(tensor)));
}

Result<Value> constant(OnnxCtx& ctx) {
  for (const char* name : {"value", "sparse_value"}) {
    if (!ctx.given(name)) continue;
    return as_value(ctx.wire(name));
  }
  if (ctx.given("value_float") || ctx.given("value_int")) {
    const bool integer = ctx.given("value_int");
    if (integer) {
      RILL_ASSIGN(const int64_t value, ctx.integer("value_int"));
      return list<int64_t>(ctx, DType::kI64, {value}, true);
    }
    RILL_ASSIGN(const float value, ctx.number("value_float"));
    return list<float>(ctx, DType::kF32, {value}, true);
  }
  if (ctx.given("value_ints")) {
    RILL_ASSIGN(const std::vector<int64_t> values, ctx.integers("value_ints"));
    return list(ctx, DType::kI64, values, false);
  }
  if (ctx.given("value_floats")) {
    RILL_ASSIGN(const Value found, ctx.value("value_floats"));
    std::vector<float> values;
    for (const Value& each : *found.get<std::vector<Value>>()) values.push_back(*each.get<float>());
    return list(ctx, DType::kF32, values, false);
  }
  return fail(Code::kUnsupported, "a constant without a tensor or numbers")
      .hint("Strings are not supported");
}

Result<Value> constant_of_shape(OnnxCtx& ctx) {
  RILL_ASSIGN(std::vector<Dim> shape, computed_dims(ctx, "input"));
  OutletId value;
  if (ctx.given("value")) {
    RILL_ASSIGN(value, ctx.wire("value"));
    const TensorPtr given = ctx.fact(value).konst;
    RILL_CHECK(given && given->volume() == 1, "attribute \"value\" is ", ctx.fact(value),
               ": expected one element");
    RILL_ASSIGN(Tensor scalar, given->reshaped({}));
    RILL_ASSIGN(value, ctx.konst(std::move(scalar), "value"));
  } else {
    RILL_ASSIGN(value, ctx.konst(Tensor::scalar(0.0F), "value"));
  }
  return ctx.add_value(make_op<Broadcast>(std::move(shape)), {value});
}

/// Return the ends of the given parts, or of equal parts, of which the last may be smaller.
Result<std::vector<Dim>> ends_of(OnnxCtx& ctx, const Dim& extent) {
  std::vector<Dim> ends;
  if (ctx.given("split")) {
    RILL_ASSIGN(const std::vector<Dim> parts, ctx.dims("split"));
    for (const Dim& part : parts) ends.push_back((ends.empty() ? Dim(0) : ends.back()) + part);
    const Dim sum = ends.empty() ? Dim(0) : ends.back();
    RILL_CHECK(!extent.is_const() || !sum.is_const() || extent == sum, "the parts ", parts,
               " make ", sum, " of the extent ", extent);
    RILL_TRY(ctx.expect_equal(extent, sum));
    return ends;
  }
  int64_t count = ctx.outputs();
  if (ctx.given("num_outputs")) {
    RILL_ASSIGN(count, ctx.integer("num_outputs"));
  }
  RILL_CHECK(count > 0 && count <= ctx.outputs(), "the node has ", counted(ctx.outputs(), "output"),
             ", expected its ", count, " parts");
  const auto known = extent.to_int();
  RILL_CHECK(ctx.opset() >= 18 || !known || *known % count == 0, "the extent ", extent, " has no ",
             count, " equal parts");
  const Dim part = ceil_div(extent, count);
  for (int64_t i = 1; i < count; ++i) ends.push_back(min(part * Dim(i), extent));
  ends.push_back(extent);
  return ends;
}

Result<Value> split(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("input"));
  RILL_ASSIGN(const int64_t axis, axis_argument(ctx, ctx.fact(x).rank()));
  const Dim extent = ctx.fact(x).dim(static_cast<int>(axis));
  RILL_ASSIGN(const std::vector<Dim> ends, ends_of(ctx, extent));
  std::vector<Value> out;
  Dim begin = 0;
  for (const Dim& end : ends) {
    const std::string suffix = out.empty() ? "" : str_cat(static_cast<int64_t>(out.size()));
    RILL_ASSIGN(const OutletId part, ctx.add1(make_op<Slice>(axis, begin, end), {x}, suffix));
    out.emplace_back(part);
    begin = end;
  }
  return Value(std::move(out));
}

const OnnxOp kOps[] = {
    {"", 1, "fragment Constant(value: ? = false) -> (output: tensor<?>);", constant},
    {"", 11, "fragment Constant(value: ? = false, sparse_value: ? = false) -> (output: tensor<?>);",
     constant},
    {"", 12,
     "fragment Constant(value: ? = false, sparse_value: ? = false, value_float: scalar = 0.0, "
     "value_floats: scalar[] = [], value_int: integer = 0, value_ints: integer[] = [], "
     "value_string: string = '', value_strings: string[] = []) -> (output: tensor<?>);",
     constant},
    {"", 9, "fragment ConstantOfShape(input: tensor<integer>, value: ? = false) "
            "-> (output: tensor<?>);",
     constant_of_shape},
    {"", 2, "fragment Split(input: tensor<?>, axis: integer = 0, split: integer[] = []) "
            "-> (outputs: tensor<?>[]);",
     split},
    {"", 13, "fragment Split(input: tensor<?>, split: tensor<integer> = false, axis: integer = 0) "
             "-> (outputs: tensor<?>[]);",
     split},
    {"", 18, "fragment Split(input: tensor<?>, split: tensor<integer> = false, axis: integer = 0, "
             "num_outputs: integer = 0) -> (outputs: tensor<?>[]);",
     split},
};

}  // namespace

extern const OnnxModule split_onnx;
const OnnxModule split_onnx = {"split", kOps};

}  // namespace rill::ops
