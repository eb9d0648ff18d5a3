#include "core/graph/walk.h"

namespace rill {
namespace {

// Wires of positions depend on a few dozen nodes, and the check may run for each node.
constexpr size_t kMostPositional = 1024;

}  // namespace

TensorPtr constant_of(const Op& op) {
  const auto* constant = op.as<Const>();
  return constant ? constant->value : nullptr;
}

const Fact* source_of(const Op& op) {
  const auto* source = op.as<Source>();
  return source ? &source->fact : nullptr;
}

bool is_positional(const Graph& graph, OutletId wire) {
  size_t seen = 0;
  return !any_before(graph, wire, [&](int id) {
    return source_of(*graph.node(id).op) || ++seen > kMostPositional;
  });
}

}  // namespace rill
