#include "core/graph/walk.h"

namespace rill {
namespace {

// Wires of positions alone depend on some tens of nodes, and the check may run for each node.
constexpr size_t kMostPositional = 1024;

}  // namespace

bool is_positional(const Graph& graph, OutletId wire) {
  size_t seen = 0;
  return !any_before(graph, wire, [&](int id) {
    return graph.node(id).op->as<Source>() != nullptr || ++seen > kMostPositional;
  });
}

}  // namespace rill
