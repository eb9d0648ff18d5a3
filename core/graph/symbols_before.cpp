#include "core/graph/symbols_before.h"

#include "core/graph/walk.h"

namespace rill {

std::vector<std::string> symbols_before(const Graph& graph, OutletId wire) {
  std::vector<std::string> symbols;
  bool reads_inputs = false;
  any_before(graph, wire, [&](int id) {
    const Node& node = graph.node(id);
    reads_inputs |= source_of(*node.op) != nullptr;
    for (const Fact& fact : node.outputs) {
      if (!fact.konst || fact.konst->dtype() != DType::kDim) continue;
      for (const Dim& number : fact.konst->values<Dim>()) number.collect_symbols(&symbols);
    }
    return reads_inputs;
  });
  return reads_inputs ? std::vector<std::string>() : symbols;
}

}  // namespace rill
