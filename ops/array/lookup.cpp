
#include "core/base/search.h"
#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"

namespace rill::ops {
namespace {

/// Replace each index by the entry of `values` at that index, or by `fallback` if it is out of
/// range.
/// Shapes: any, kept. Types: integers -> the type of the values, which may be strings.
/// Errors: kDType, kShape if the values are not a list.
/// Stream: pointwise.
/// Source: ONNX-ML, `CategoryMapper`; tract, `tract_onnx_ml_direct_lookup`.
class DirectLookup final : public OpBase<DirectLookup> {
 public:
  TensorPtr values;
  TensorPtr fallback;
  std::string_view name() const override { return "DirectLookup"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("values", values);
    visitor.field("fallback", fallback);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    RILL_TRY(check_indices(in[0].without_value(), Dim(0)));
    RILL_CHECK(values && fallback, "no values, or no fallback");
    RILL_CHECK(values->rank() <= 1 && fallback->volume() == 1, "values of rank ", values->rank(),
               ", ", fallback->volume(), " fallbacks: expected a list and one");
    if (values->dtype() != fallback->dtype()) {
      return fail(Code::kDType, "values are ", dtype_name(values->dtype()), ", the fallback ",
                  dtype_name(fallback->dtype()));
    }
    return one_fact(Fact::of(values->dtype(), in[0].shape));
  }
  Status eval(EvalCtx& ctx) const override {
    const View& x = ctx.in[0];
    const View& y = ctx.out[0];
    RILL_TRY(known_indices(x));
    visit_size(values->dtype(), [&](auto tag) {
      using T = decltype(tag);
      for_each_element<2>({x, y}, [&](const std::array<int64_t, 2>& at) {
        const int64_t index = index_at(x, at[0]);
        const bool found = index >= 0 && index < values->volume();
        y.as<T>()[at[1]] = found ? values->data<T>()[index] : *fallback->data<T>();
      });
    });
    return {};
  }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override {
    return elementwise_axes(in, out);
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    RILL_ASSIGN(const std::string list, ctx.variable("values", values));
    RILL_ASSIGN(const std::string other, ctx.literal(*fallback));
    ctx.need_registry("tract_onnx");
    ctx.assign(str_cat("tract_onnx_ml_direct_lookup(", x, ", ", list, ", ", other, ")"));
    return {};
  }
};

/// Replace each value by its index in `keys`, or by `fallback` if it is not among them.
/// Shapes: any, kept. Types: integers, bool or strings, the type of the keys -> i32.
/// Errors: kDType, kShape if the keys are not a list.
/// Stream: pointwise.
/// Source: ONNX-ML, `CategoryMapper`; tract, `tract_onnx_ml_reverse_lookup`.
class ReverseLookup final : public OpBase<ReverseLookup> {
 public:
  TensorPtr keys;
  int64_t fallback = -1;
  std::string_view name() const override { return "ReverseLookup"; }
  void fields(FieldVisitor& visitor) override {
    visitor.field("keys", keys);
    ranged_field(visitor, "fallback", INT32_MIN, INT32_MAX, fallback);
  }
  Dim work(FactSpan in, FactSpan) const override {
    return volume(in[0].shape) * Dim(keys->volume());
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    const DType type = in[0].dtype;
    RILL_CHECK(keys, "no keys");
    RILL_CHECK(keys->rank() <= 1, "keys of rank ", keys->rank(), ": expected a list");
    if (keys->dtype() != type || is_float(type) || type == DType::kDim || is_quantised(type)) {
      return fail(Code::kDType, "input ", in[0], ", keys of ", dtype_name(keys->dtype()),
                  ": expected one type, integers, bool or strings");
    }
    RILL_CHECK(fallback >= INT32_MIN && fallback <= INT32_MAX, "fallback ", fallback);
    return one_fact(Fact::of(DType::kI32, in[0].shape));
  }
  Status eval(EvalCtx& ctx) const override {
    const View& x = ctx.in[0];
    const View& y = ctx.out[0];
    visit_size(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      const auto list = keys->values<T>();
      for_each_element<2>({x, y}, [&](const std::array<int64_t, 2>& at) {
        const auto found = find(list, x.as<const T>()[at[0]]);
        y.as<int32_t>()[at[1]] =
            static_cast<int32_t>(found == list.end() ? fallback : found - list.begin());
      });
    });
    return {};
  }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override {
    return elementwise_axes(in, out);
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string x, ctx.in(0));
    RILL_ASSIGN(const std::string list, ctx.variable("keys", keys));
    ctx.need_registry("tract_onnx");
    ctx.assign(str_cat("tract_onnx_ml_reverse_lookup(", x, ", ", list, ", ", fallback, ")"));
    return {};
  }
};

Result<TensorPtr> constant_of(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(const OutletId wire, plain_wire(ctx, name));
  const TensorPtr value = ctx.fact(wire).konst;
  if (!value) return fail(Code::kUnsupported, "argument \"", name, "\" is not a constant");
  return value;
}

Result<Value> load_direct(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  auto op = draft_op<DirectLookup>();
  RILL_ASSIGN(op->values, constant_of(ctx, "values"));
  RILL_ASSIGN(op->fallback, constant_of(ctx, "fallback"));
  // NNEF numbers without a decimal point are dims; they take the type of the other operand.
  for (auto [one, other] : {std::pair{&op->fallback, &op->values}, {&op->values, &op->fallback}}) {
    if ((*one)->dtype() != DType::kDim || !is_number((*other)->dtype())) continue;
    RILL_ASSIGN(Tensor typed, cast(**one, (*other)->dtype()));
    *one = std::make_shared<const Tensor>(std::move(typed));
  }
  return ctx.add_value(std::move(op), {x});
}

Result<Value> load_reverse(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  auto op = draft_op<ReverseLookup>();
  RILL_ASSIGN(op->keys, constant_of(ctx, "keys"));
  RILL_ASSIGN(op->fallback, ctx.integer("fallback"));
  return ctx.add_value(std::move(op), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_onnx",
     "fragment tract_onnx_ml_direct_lookup(input: tensor<integer>, values: tensor<?>,"
     " fallback: tensor<?>) -> (output: tensor<?>);",
     load_direct},
    {"tract_onnx",
     "fragment tract_onnx_ml_reverse_lookup(input: tensor<?>, keys: tensor<?>, fallback: integer)"
     " -> (output: tensor<integer>);",
     load_reverse},
};

constexpr OpClass kClasses[] = {
    op_class<DirectLookup>("DirectLookup"),
    op_class<ReverseLookup>("ReverseLookup"),
};

}  // namespace

extern const OpModule lookup_module;
const OpModule lookup_module = {"lookup", kOps, kClasses};

}  // namespace rill::ops
