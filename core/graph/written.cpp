#include "core/graph/written.h"

#include <algorithm>

namespace rill {

bool value_mentions(const TensorPtr& value, std::string_view symbol) {
  if (!value || value->dtype() != DType::kDim) return false;
  const auto dims = value->values<Dim>();
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.mentions(symbol); });
}

bool reads_lengths(const Graph& graph, const Node& node, std::string_view symbol) {
  const auto written = [&](OutletId input) {
    return value_mentions(graph.fact(input).konst, symbol);
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(), written) &&
         std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](const Fact& fact) { return fact.mentions(symbol); });
}

}  // namespace rill
