#include "core/graph/written.h"

#include "core/base/search.h"

namespace rill {

bool value_mentions(const TensorPtr& value, std::string_view symbol) {
  if (!value || value->dtype() != DType::kDim) return false;
  const auto dims = value->values<Dim>();
  return any_of(dims, [&](const Dim& d) { return d.mentions(symbol); });
}

TensorPtr simplified(const TensorPtr& dims, const SymbolScope& scope) {
  std::vector<Dim> known;
  for (const Dim& dim : dims->values<Dim>()) known.push_back(scope.simplify(dim));
  auto tensor = Tensor::of<Dim>(DType::kDim, dims->shape(), known);
  return tensor.ok() ? std::make_shared<const Tensor>(std::move(tensor).value()) : dims;
}

bool reads_lengths(const Graph& graph, const Node& node, std::string_view symbol) {
  const auto written = [&](OutletId input) {
    return value_mentions(graph.fact(input).konst, symbol);
  };
  return any_of(node.inputs, written) &&
         none_of(node.outputs, [&](const Fact& fact) { return fact.mentions(symbol); });
}

}  // namespace rill
