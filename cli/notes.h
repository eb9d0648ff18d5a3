#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/inputs.h"
#include "cli/options.h"
#include "core/graph/graph.h"

namespace rill::cli {

using CostList = std::vector<std::pair<std::string, Dim>>;  ///< kind, as "FMA(F32)", and count

/// Measurements and counts of a node.
struct NodeNotes {
  CostList cost;
  std::optional<double> seconds;  ///< per run, over all iterations; of a loop, without its body
  std::optional<double> min_seconds;
  std::optional<double> max_seconds;
  std::optional<double> median_seconds;
  std::optional<double> p99_seconds;
  int64_t calls = 1;              ///< per run: the iterations of the enclosing loops
  std::optional<double> reach;    ///< share of the machine's nearer limit
  std::string limit;              ///< "FMA", or the cache that holds the bytes, as in "L2"
  std::optional<Dim> live_bytes;  ///< of all wires but constants while the node runs
  std::vector<NodeNotes> body;    ///< of a loop, by node of its body
};

/// A node's execution in a run: its start relative to the run, and its duration.
struct Span {
  int node = -1;
  int64_t begin_ns = 0;
  int64_t ns = 0;
};

/// Notes on the nodes of a graph, for dumps.
struct Notes {
  std::vector<NodeNotes> nodes;  ///< by node; may be empty
  bool cost = false;
  bool profile = false;
  bool memory = false;
  int64_t iterations = 0;
  double seconds_per_run = 0;
  std::vector<Span> timeline;  ///< of the fastest run

  /// Return the notes of a node; empty if nothing is known.
  static const NodeNotes& of(const std::vector<NodeNotes>& nodes, int id);
};

/// Visit all nodes with their notes, those of loop bodies after the loop. `scope`: the enclosing
/// loops.
using NoteVisitor = std::function<void(std::span<const int> scope, const Graph& graph, int id,
                                       const NodeNotes& notes)>;
void for_each_note(const Graph& graph, const Notes& notes, const NoteVisitor& visit);

/// Return the sum of a node's counts whose kind has this prefix; 0 while they depend on a symbol.
int64_t count_of(const NodeNotes& node, std::string_view kind);

/// Count the work of every node by kind; that of loop bodies times the iterations of the loop.
void note_costs(const Graph& graph, Notes* notes);
/// Return the sum over all nodes, sorted by kind.
CostList total_cost(const Graph& graph, const Notes& notes);
/// Replace symbols in all counts.
void bind_costs(const Bindings& bindings, Notes* notes);

/// Record how many bytes are live at each node, without constants.
void note_memory(const Graph& graph, Notes* notes);

/// Compare the median time of every node to the machine's limits for its multiply-adds and its
/// bytes, on one core. Costs must be noted. Measures the machine: half a second.
void note_reach(Notes* notes);

/// Run a graph whose symbols are bound, and time every node. The graph runs unchanged: optimise it
/// before. Loop bodies are timed separately, one iteration at a time, unless `--folded` is given.
Status profile(int64_t threads, const LoopOptions& loop, bool folded, const Graph& graph,
               const InputValues& inputs, Notes* notes);

}  // namespace rill::cli
