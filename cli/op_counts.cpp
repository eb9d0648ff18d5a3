#include "cli/op_counts.h"

namespace rill::cli {
namespace {

void count_into(const Graph& graph, std::map<std::string, int64_t, std::less<>>* counts) {
  for (const Node& node : graph.nodes) {
    ++(*counts)[std::string(node.op->name())];
    if (const Graph* body = node.op->nested()) count_into(*body, counts);
  }
}

}  // namespace

std::map<std::string, int64_t, std::less<>> count_ops(const Graph& graph) {
  std::map<std::string, int64_t, std::less<>> counts;
  count_into(graph, &counts);
  return counts;
}

}  // namespace rill::cli
