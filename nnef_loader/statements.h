#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"

namespace rill::nnef {

/// NNEF statements that operate on named wires of a model.
struct Statements {
  Graph graph;              ///< the model's wires as sources and constants, then the new nodes
  std::map<int, int> taps;  ///< nodes of `graph` that stand for nodes of the model
  std::vector<std::pair<std::string, OutletId>> assigned;  ///< names in order, and their last value
};

/// Read statements such as `x = mul(y, 2.0); z = relu(x);`. Names are those of the model's nodes,
/// of its outputs, or of earlier statements; all registries are enabled.
/// Errors: as `load`, with lines of the text.
Result<Statements> load_statements(const Graph& model, std::string_view body,
                                   std::span<const OpModule* const> ops);

}  // namespace rill::nnef
