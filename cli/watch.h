#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/options.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// The value of a wire after a run.
struct WatchedValue {
  OutletId outlet;
  std::string name;  ///< of the node; `name:SLOT` for further outputs
  Tensor value;
};

/// Runs a graph with bound symbols, turn by turn, and records the value of every non-constant wire.
/// The graph runs unchanged: optimise it before. Strings are skipped.
class Watcher {
 public:
  static Result<Watcher> make(const Graph& graph);
  Result<std::vector<WatchedValue>> turn(std::span<const Tensor> inputs);

 private:
  std::vector<WatchedValue> wires_;
  size_t first_ = 0;  ///< the output that is the first wire
  std::unique_ptr<Session> session_;
};

/// Run a graph with bound symbols once, and return the value of every non-constant wire. The graph
/// runs unchanged: optimise it before. Strings are skipped.
Result<std::vector<WatchedValue>> watch_all(const Graph& graph, std::span<const Tensor> inputs);

/// Return the values beyond the range of f16 or, in a graph with f16 wires, the nodes that turn
/// finite numbers into infinity.
std::vector<std::string> half_overflows(const Graph& graph, std::span<const WatchedValue> values);
/// Fail if there is an infinity or a NaN among the values.
Status check_sane(const Graph& graph, std::span<const WatchedValue> values);

/// Print inputs and outputs of every node to stderr, as `run --steps` does.
void print_steps(const Graph& graph, std::span<const WatchedValue> values);

}  // namespace rill::cli
