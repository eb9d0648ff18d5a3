#include "core/optim/optim.h"

#include "core/graph/rewrite.h"

namespace rill {
namespace {

// A chain is rewritten one link per round; real models settle in under 20.
constexpr int kMaxRounds = 200;

Result<Graph> to_fixed_point(const Graph& graph, const RewriteRule& rule) {
  Graph current = graph.compacted();
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    RILL_ASSIGN(current, rewrite_once(current, rule, &changed));
    if (!changed) break;
  }
  return current;
}

}  // namespace

Result<Graph> declutter(const Graph& graph) {
  return to_fixed_point(graph, [](const Op& op, Rewrite& rewrite) { return op.declutter(rewrite); });
}

Result<Graph> fuse(const Graph& graph) {
  return to_fixed_point(graph, [](const Op& op, Rewrite& rewrite) { return op.fuse(rewrite); });
}

}  // namespace rill
