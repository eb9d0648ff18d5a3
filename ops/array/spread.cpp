#include "ops/array/spread.h"

#include "core/tensor/uniform.h"
#include "ops/array/broadcast.h"

namespace rill::ops {

Status replace_by_repeated(Rewrite& rewrite, const Tensor& number) {
  const std::vector<Dim>& shape = rewrite.out().shape;
  RILL_ASSIGN(Tensor one, number.reshaped(std::vector<int64_t>(shape.size(), 1)));
  const OutletId konst = rewrite.konst(str_cat(rewrite.node().name, "_everywhere"), std::move(one));
  return rewrite.replace_by(make_op<Broadcast>(shape), {konst});
}

Status spread_constant(Rewrite& rewrite) {
  if (rewrite.node().inputs.size() != 1 || rewrite.fusing()) return {};
  const auto source = repeated_wire(rewrite.old_graph(), rewrite.input(0));
  if (!source) return {};
  const Fact& repeated = rewrite.old_graph().fact(*source);
  if (!repeated.konst || repeated.konst->volume() != 1 || !is_plain(repeated.dtype)) return {};
  const Tensor number = first_element(*repeated.konst);
  const Op& op = *rewrite.node().op;
  if (!op.traits().per_element) return replace_by_repeated(rewrite, number);
  const std::vector<int64_t> ones(rewrite.out().shape.size(), 1);
  RILL_ASSIGN(Tensor one, number.reshaped(ones));
  const std::string& name = rewrite.node().name;
  const OutletId konst = rewrite.konst(str_cat(name, "_everywhere"), std::move(one));
  RILL_ASSIGN(const OutletId made, rewrite.wire1(str_cat(name, "_once"), op.clone(), {konst}));
  return rewrite.replace_by(make_op<Broadcast>(rewrite.out().shape), {made});
}

}  // namespace rill::ops
