// Reads ONNX's operators that add, remove and reorder axes.

#include <algorithm>
#include <numeric>

#include "core/base/sorted.h"
#include "core/graph/onnx.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"

namespace rill::ops {
namespace {

/// Return the unit axes, for a node without axes. Symbolic axes are either all among them or not at
/// all; the declared rank of the output decides.
Result<std::vector<int64_t>> unit_axes(OnnxCtx& ctx, const Fact& fact) {
  std::vector<int64_t> axes;
  std::vector<int64_t> open;
  for (int axis = 0; axis < fact.rank(); ++axis) {
    const auto extent = fact.dim(axis).to_int();
    if (!extent) open.push_back(axis);
    if (extent && *extent == 1) axes.push_back(axis);
  }
  if (open.empty()) return axes;
  const auto stated = ctx.stated_rank(0);
  const auto kept = fact.rank() - static_cast<int64_t>(axes.size());
  if (stated && *stated == kept) return axes;
  if (!stated || *stated != kept - static_cast<int64_t>(open.size())) {
    return fail(Code::kSymbol, "without axes, those of extent 1 are removed, but the input is ",
                fact)
        .hint("Set the symbols, as in --set N=1, or the input's shape with -i");
  }
  for (const int64_t axis : open) {
    RILL_TRY(ctx.take_as_equal(fact.dim(static_cast<int>(axis)), Dim(1)));
    axes.push_back(axis);
  }
  sort_list(axes);
  return axes;
}

Result<Value> squeeze(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("data"));
  std::vector<int64_t> axes;
  if (ctx.given("axes")) {
    RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
    RILL_ASSIGN(axes, axes_in(written, ctx.fact(x).rank()));
  } else {
    RILL_ASSIGN(axes, unit_axes(ctx, ctx.fact(x)));
  }
  for (size_t i = axes.size(); i-- > 0;) {
    RILL_ASSIGN(x, ctx.add1(make_op<RmAxis>(axes[i]), {x}));
  }
  return as_value(x);
}

Result<Value> unsqueeze(OnnxCtx& ctx) {
  RILL_ASSIGN(OutletId x, ctx.wire("data"));
  RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
  // Axis numbers are those of the output.
  const int64_t rank = ctx.fact(x).rank() + static_cast<int64_t>(written.size());
  RILL_ASSIGN(const std::vector<int64_t> axes, axes_in(written, rank));
  RILL_CHECK(axes.size() == written.size(), "axes ", written, ": one of them twice");
  for (const int64_t axis : axes) {
    RILL_ASSIGN(x, ctx.add1(make_op<AddAxis>(axis), {x}));
  }
  return as_value(x);
}

Result<Value> transpose(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId x, ctx.wire("data"));
  std::vector<int64_t> perm(static_cast<size_t>(ctx.fact(x).rank()));
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (ctx.given("perm")) {
    RILL_ASSIGN(perm, ctx.integers("perm"));
  }
  return ctx.add_value(make_op<Transpose>(std::move(perm)), {x});
}

const OnnxOp kOps[] = {
    {"", 1, "fragment Squeeze(data: tensor<?>, axes: integer[] = []) -> (squeezed: tensor<?>);",
     squeeze},
    {"", 13,
     "fragment Squeeze(data: tensor<?>, axes: tensor<integer> = false) -> (squeezed: tensor<?>);",
     squeeze},
    {"", 1, "fragment Unsqueeze(data: tensor<?>, axes: integer[]) -> (expanded: tensor<?>);",
     unsqueeze},
    {"", 13,
     "fragment Unsqueeze(data: tensor<?>, axes: tensor<integer>) -> (expanded: tensor<?>);",
     unsqueeze},
    {"", 1, "fragment Transpose(data: tensor<?>, perm: integer[] = []) -> (transposed: tensor<?>);",
     transpose},
};

}  // namespace

extern const OnnxModule axis_ops_onnx;
const OnnxModule axis_ops_onnx = {"axis_ops", kOps};

}  // namespace rill::ops
