#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"

namespace rill::ops {
namespace {

/// Encode indices one-hot on a new axis: `on` where the position equals the index, `off` elsewhere.
/// Shapes: [D0..Dn] -> [D0..dim..Dn], the new axis at `axis`.
/// Types: integers -> f32. Negative indices count from the end; for those out of range, all is
/// `off`.
/// Errors: kShape if `axis` is not in [0, rank], or `dim` is negative; kDType.
/// Stream: pointwise.
/// Source: ONNX, `OneHot`; tract, `tract_core_one_hot`.
class OneHot final : public OpBase<OneHot> {
 public:
  int64_t axis = 0;
  int64_t dim = 0;
  float off = 0.0F;
  float on = 1.0F;
  std::string_view name() const override { return "Onehot"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axis", axis);
    ranged_field(visitor, "dim", 0, INT64_MAX, dim);
    visitor.field("off", off);
    visitor.field("on", on);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    RILL_CHECK(axis >= 0 && axis <= in[0].rank(), "no place ", axis, " for an axis in ", in[0]);
    RILL_CHECK(dim >= 0, "dim = ", dim, ": expected 0 or more");
    RILL_TRY(check_indices(in[0].without_value(), Dim(0)));
    Fact out = Fact::of(DType::kF32, in[0].shape);
    out.shape.insert(out.shape.begin() + axis, Dim(dim));
    return one_fact(std::move(out));
  }
  Status eval(EvalCtx& ctx) const override {
    const View& x = ctx.in[0];
    const View& out = ctx.out[0];
    const int place = static_cast<int>(axis);
    RILL_TRY(known_indices(x));
    for_each_element<2>({x, without_axis(out, place)}, [&](const std::array<int64_t, 2>& at) {
      const int64_t index = wrapped_index(index_at(x, at[0]), dim);
      for (int64_t i = 0; i < dim; ++i) {
        out.as<float>()[at[1] + i * out.step(place)] = i == index ? on : off;
      }
    });
    return {};
  }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int i = 0; i < in[0].rank(); ++i) tracks.push_back({{i}, {i < axis ? i : i + 1}});
    return tracks;
  }
  Status save(SaveCtx& ctx) const override;
};

Result<Value> load_one_hot(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  auto op = draft_op<OneHot>();
  RILL_TRY(ctx.fields(*op));
  RILL_ASSIGN(op->axis, axis_in(op->axis, ctx.fact(x).rank() + 1));
  RILL_ASSIGN(op->off, ctx.number("value_off"));
  RILL_ASSIGN(op->on, ctx.number("value_on"));
  return ctx.add_value(std::move(op), {x});
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_one_hot(input: tensor<integer>, axis: integer, dim: integer,"
     " value_off: scalar = 0.0, value_on: scalar = 1.0) -> (output: tensor<scalar>);",
     load_one_hot},
};

constexpr OpClass kClasses[] = {op_class<OneHot>("OneHot")};

}  // namespace

Status OneHot::save(SaveCtx& ctx) const {
  return ctx.assign_declared(
      kOps[0], {{"value_off", nnef_text(off)}, {"value_on", nnef_text(on)}});
}

extern const OpModule one_hot_module;
const OpModule one_hot_module = {"one_hot", kOps, kClasses};

}  // namespace rill::ops
