#include "core/run/touches.h"

#include "core/exec/op_fields.h"

namespace rill {

Facts facts_of(std::span<const PlacedView> operands) {
  Facts facts;
  for (const PlacedView& operand : operands) {
    Fact fact;
    fact.dtype = operand.dtype;
    fact.q = operand.q;
    for (int axis = 0; axis < operand.rank; ++axis) fact.shape.emplace_back(operand.extent(axis));
    facts.push_back(std::move(fact));
  }
  return facts;
}

void StepTouches::infers(const Op& op, std::span<const PlacedView> in,
                         std::span<const PlacedView> out) {
  const auto inferred = op.infer(facts_of(in));
  require(inferred.ok() && inferred->size() == out.size(), "operands that its operator takes");
  for (size_t i = 0; inferred.ok() && i < out.size() && i < inferred->size(); ++i) {
    const Fact& fact = (*inferred)[i];
    const DType dtype = fact.dtype == DType::kDim ? DType::kI64 : fact.dtype;
    bool same = dtype == out[i].dtype && fact.rank() == out[i].rank;
    for (int axis = 0; same && axis < fact.rank(); ++axis) {
      same = fact.dim(axis) == Dim(out[i].extent(axis));
    }
    require(same, "outputs that its operator gives");
  }
}

}  // namespace rill
