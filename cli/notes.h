#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/args.h"
#include "cli/inputs.h"
#include "core/graph/graph.h"

namespace rill::cli {

using CostList = std::vector<std::pair<std::string, Dim>>;  ///< "FMA(F32)", how many

/// What was measured or counted of a node.
struct NodeNotes {
  CostList cost;
  std::optional<double> seconds;  ///< per run
  std::optional<double> min_seconds;
  std::optional<double> max_seconds;
};

/// What is told beside a graph.
struct Notes {
  std::vector<NodeNotes> nodes;  ///< by node; may be empty
  bool cost = false;
  bool profile = false;
  int64_t iterations = 0;
  double seconds_per_run = 0;
};

/// The work of a node, by kind; empty where there is none.
CostList cost_of(const Graph& graph, const Node& node);
/// The sum over all nodes, sorted by kind.
CostList total_cost(const Notes& notes);

/// Run a graph whose symbols are bound, and time every node. The graph runs as it is: optimise it
/// before.
Status profile(const Args& args, const Graph& graph, const InputValues& inputs, Notes* notes);

/// Print the totals: by kind of work, by operator, over all.
void print_cost_summary(const Notes& notes);
void print_profile_summary(const Graph& graph, const Notes& notes);
/// "0.033 ms/i".
std::string time_text(double seconds);

}  // namespace rill::cli
