#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/args.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// The value of a wire after a run.
struct WatchedValue {
  OutletId outlet;
  std::string name;  ///< of the node; `name:SLOT` for further outputs
  Tensor value;
};

/// Run a graph whose symbols are bound, once, and take the value of every wire that is not a
/// constant. `graph` is run as it is: optimise it before. Values that are texts are left out.
Result<std::vector<WatchedValue>> watch_all(const Graph& graph, std::span<const Tensor> inputs);

/// Print inputs and outputs of every node to stderr, as `run --steps` does.
void print_steps(const Graph& graph, std::span<const WatchedValue> values);

}  // namespace rill::cli
