#include "core/optim/optim.h"

#include <algorithm>

#include "core/graph/rewrite.h"

namespace rill {
namespace {

// A chain of operators is rewritten one link per round; real models settle in fewer than 20 rounds.
constexpr int kMaxRounds = 200;

Result<Graph> to_fixed_point(const Graph& graph, int64_t rounds, const RewriteRule& rule) {
  Graph current;
  const Graph* latest = &graph;
  if (!graph.is_compact() || rounds == 0) {
    current = graph.compacted();
    latest = &current;
  }
  const int64_t most = rounds < 0 ? kMaxRounds : std::min<int64_t>(rounds, kMaxRounds);
  for (int64_t round = 0; round < most; ++round) {
    bool changed = false;
    RILL_ASSIGN(current, rewrite_once(*latest, rule, &changed, round > 0));
    latest = &current;
    if (!changed) break;
  }
  return current;
}

/// Offer the node to each producer whose output has no other reader.
Status offer_to_producers(Rewrite& rewrite) {
  const Node& node = rewrite.node();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const OutletId input = node.inputs[i];
    if (rewrite.uses(input) != 1) continue;
    const Node& producer = rewrite.old_graph().node(input.node);
    RILL_TRY(producer.op->absorb(producer, rewrite, static_cast<int>(i)));
    if (rewrite.replacement()) return {};
  }
  return {};
}

}  // namespace

Result<Graph> declutter(const Graph& graph, int64_t rounds) {
  return to_fixed_point(graph, rounds, [](const Op& op, Rewrite& rewrite) -> Status {
    RILL_TRY(offer_to_producers(rewrite));
    if (rewrite.replacement()) return {};
    return op.declutter(rewrite);
  });
}

Result<Graph> fuse(const Graph& graph, int64_t rounds, bool few_bits) {
  return to_fixed_point(graph, rounds, [few_bits](const Op& op, Rewrite& rewrite) -> Status {
    rewrite.set_fusing(few_bits);
    RILL_TRY(offer_to_producers(rewrite));
    if (rewrite.replacement()) return {};
    return op.fuse(rewrite);
  });
}

}  // namespace rill
