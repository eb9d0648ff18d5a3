#include <algorithm>
#include <cmath>

#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/indices.h"
#include "ops/array/not_defined.h"

namespace rill::ops {
namespace {

/// Find the `k` largest or smallest elements along one axis, sorted, and their indices. Equal
/// elements keep their order.
/// Shapes: [D0..N..Dn] -> values and indices, both [D0..k..Dn]; k may be symbolic.
/// Types: numbers -> the same, and i64. NaN counts as largest, as in NumPy and PyTorch.
/// Errors: kShape if there is no such axis, or if k is negative or above N, checked once both are
/// numbers; kDType.
/// Stream: pointwise on the other axes; refused on `axis`.
/// Source: ONNX, `TopK`; tract, `tract_core_topk`.
class TopK final : public OpBase<TopK> {
 public:
  int64_t axis = 0;
  Dim k;
  bool largest = true;
  std::string_view name() const override { return "Topk"; }
  void fields(FieldVisitor& visitor) override {
    axis_field(visitor, "axis", axis);
    visitor.field("k", k);
    visitor.field("largest", largest);
  }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    RILL_CHECK(axis >= 0 && axis < in[0].rank(), "no axis ", axis, " in ", in[0]);
    if (!is_number(in[0].dtype)) {
      return not_defined_for(in[0]);
    }
    const auto count = k.to_int();
    const auto spare = (in[0].dim(static_cast<int>(axis)) - k).to_int();
    RILL_CHECK((!count || *count >= 0) && (!spare || *spare >= 0), "k = ", k, " along axis ", axis,
               " of ", in[0]);
    Fact values = in[0].without_value();
    values.shape[static_cast<size_t>(axis)] = k;
    Fact indices = Fact::of(DType::kI64, values.shape);
    return Facts{std::move(values), std::move(indices)};
  }
  Dim work(FactSpan in, FactSpan) const override { return volume(in[0].shape) * (k + Dim(1)); }
  /// Select by insertion: fast for a small k, and without memory.
  Status eval(EvalCtx& ctx) const override {
    const int on = static_cast<int>(axis);
    const View& x = ctx.in[0];
    const View& values = ctx.out[0];
    const View& indices = ctx.out[1];
    const int64_t length = x.extent(on);
    const int64_t count = std::min(values.extent(on), length);
    visit_number(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      using W = Wide<T>;
      const auto before = [&](W a, W b) {
        if constexpr (std::is_floating_point_v<W>) {
          if (std::isnan(a)) return largest && !std::isnan(b);
          if (std::isnan(b)) return !largest;
        }
        return largest ? a > b : a < b;
      };
      for_each_element<3>(
          {without_axis(x, on), without_axis(values, on), without_axis(indices, on)},
          [&](const std::array<int64_t, 3>& at) {
            const T* from = x.as<const T>() + at[0];
            T* best = values.as<T>() + at[1];
            int64_t* places = indices.as<int64_t>() + at[2];
            int64_t kept = 0;
            for (int64_t n = 0; n < length; ++n) {
              const T v = from[n * x.step(on)];
              int64_t slot = kept;
              while (slot > 0 && before(upcast(v), upcast(best[(slot - 1) * values.step(on)])))
                --slot;
              if (slot >= count) continue;
              kept = std::min(kept + 1, count);
              for (int64_t i = kept - 1; i > slot; --i) {
                best[i * values.step(on)] = best[(i - 1) * values.step(on)];
                places[i * indices.step(on)] = places[(i - 1) * indices.step(on)];
              }
              best[slot * values.step(on)] = v;
              places[slot * indices.step(on)] = n;
            }
          });
    });
    return {};
  }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan) const override {
    std::vector<AxisTrack> tracks;
    for (int i = 0; i < in[0].rank(); ++i) {
      if (i != axis) tracks.push_back({{i}, {i, i}});
    }
    return tracks;
  }
  Status save(SaveCtx& ctx) const override;
};

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_topk(input: tensor<scalar>, k: integer, axis: integer,"
     " largest: logical = true) -> (values: tensor<scalar>, indices: tensor<integer>);",
     load_on_input<TopK>},
};

constexpr OpClass kClasses[] = {op_class<TopK>("TopK")};

}  // namespace

Status TopK::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule topk_module;
const OpModule topk_module = {"topk", kOps, kClasses};

}  // namespace rill::ops
