// Reads `constant` and `split` of NNEF, as constants and slices.
// Source: NNEF 1.0, `constant` and `split`.

#include <numeric>

#include "ops/array/common.h"
#include "ops/math/wiring.h"

namespace rill::ops {
namespace {

Result<Value> load_constant(LoadCtx& ctx) {
  RILL_ASSIGN(const std::vector<int64_t> shape, ctx.integers("shape"));
  RILL_ASSIGN(const OutletId listed, plain_wire(ctx, "value"));
  const TensorPtr values = ctx.fact(listed).konst;
  if (!values) return fail(Code::kUnsupported, "argument \"value\" is not a constant");
  const std::string_view generic = ctx.generic();
  const DType type = generic == "integer"   ? DType::kI64
                     : generic == "logical" ? DType::kBool
                                            : DType::kF32;
  RILL_ASSIGN(const Tensor typed, cast(*values, type));
  RILL_ASSIGN(Tensor out, Tensor::zeros(type, shape));
  RILL_CHECK(typed.volume() == 1 || typed.volume() == out.volume(),
             counted(typed.volume(), "value"), " for shape ", shape,
             ": expected one, or one for each element");
  RILL_ASSIGN(const Tensor flat, typed.reshaped({typed.volume()}));
  View from = flat.view();
  RILL_ASSIGN(Tensor target, out.reshaped({out.volume()}));
  if (typed.volume() == 1) {
    from.shape[0] = out.volume();
    from.stride[0] = 0;
  }
  copy_view(from, target.view());
  return as_value(ctx.konst(std::move(out)));
}

/// Split into parts whose extents have the given ratios and add up to the whole.
Result<Value> load_split(LoadCtx& ctx) {
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const std::vector<int64_t> ratios, ctx.integers("ratios"));
  Wiring w(ctx);
  const OutletId x = w.arg("value");
  if (!w.ok()) return w.take_status();
  RILL_ASSIGN(const int64_t axis, axis_in(written, w.rank(x)));
  int64_t total = 0;
  for (const int64_t ratio : ratios) {
    RILL_CHECK(ratio >= 1 && ratio < (int64_t{1} << 40), "ratio ", ratio, ": expected 1 or more");
    total += ratio;
  }
  const Dim extent = w.fact(x).dim(static_cast<int>(axis));
  const auto unit = total > 0 ? exact_div(extent, Dim(total)) : std::nullopt;
  RILL_CHECK(unit, "extent ", extent, " in ratios ", ratios, ": expected a multiple of their sum");
  std::vector<OutletId> parts;
  Dim begin = 0;
  for (const int64_t ratio : ratios) {
    const Dim end = begin + *unit * Dim(ratio);
    parts.push_back(w.slice(x, static_cast<int>(axis), begin, end));
    begin = end;
  }
  return w.done(parts);
}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment constant<? = scalar>(shape: integer[], value: ?[]) -> (output: tensor<?>);",
     load_constant},
    {"tract_nnef",
     "fragment split<?>(value: tensor<?>, axis: integer, ratios: integer[])"
     " -> (values: tensor<?>[]);",
     load_split},
};

}  // namespace

extern const OpModule split_module;
const OpModule split_module = {"split", kOps};

}  // namespace rill::ops
