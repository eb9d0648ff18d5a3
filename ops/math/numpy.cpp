#include "ops/math/numpy.h"

namespace rill::ops {

Result<OutletId> numpy_binary(LoadCtx& ctx, BinaryKind kind, OutletId a, OutletId b,
                              std::string_view suffix) {
  RILL_ASSIGN(const std::vector<OutletId> wires, numpy_operands(ctx, {a, b}));
  const Fact& left = ctx.fact(wires[0]);
  const Fact& right = ctx.fact(wires[1]);
  if (left.dtype != right.dtype) {
    return fail(Code::kDType, "operands of ", left, " and ", right, ": expected one type")
        .hint("Cast one of them");
  }
  return load_binary(ctx, kind, wires[0], wires[1], suffix);
}

}  // namespace rill::ops
