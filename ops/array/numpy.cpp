#include "ops/array/numpy.h"

#include <algorithm>

#include "core/base/search.h"
#include "ops/array/axis_ops.h"
#include "ops/array/cast.h"

namespace rill::ops {

Result<OutletId> with_rank(LoadCtx& ctx, OutletId wire, int rank) {
  while (ctx.fact(wire).rank() < rank) {
    RILL_ASSIGN(wire, ctx.add1(make_op<AddAxis>(0), {wire}, "aligned"));
  }
  return wire;
}

Result<std::vector<OutletId>> as_dims_if_any(LoadCtx& ctx, std::vector<OutletId> wires) {
  const bool dims =
      any_of(wires, [&](const OutletId wire) { return ctx.fact(wire).dtype == DType::kDim; });
  for (OutletId& wire : wires) {
    if (!dims || !is_int(ctx.fact(wire).dtype)) continue;
    RILL_ASSIGN(wire, ctx.add1(make_op<Cast>(DType::kDim), {wire}, "cast"));
  }
  return wires;
}

Result<std::vector<OutletId>> numpy_operands(LoadCtx& ctx, std::vector<OutletId> wires) {
  int rank = 0;
  for (const OutletId wire : wires) rank = std::max(rank, ctx.fact(wire).rank());
  for (OutletId& wire : wires) {
    RILL_ASSIGN(wire, with_rank(ctx, wire, rank));
  }
  return as_dims_if_any(ctx, std::move(wires));
}

}  // namespace rill::ops
