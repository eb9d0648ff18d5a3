#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Make the states of loops inputs and outputs. For a loop with one iteration, every constant
/// initial value becomes an input of the model, `<loop>.state_in`, and the final value an output,
/// `<loop>.state_out`; further states get the suffixes `_1`, `_2`. Loops with several iterations,
/// with skipped iterations, or whose state already is an input stay unchanged. A loop with one
/// iteration and no state is then inlined.
/// Source: tract, transform `export_scan_state`; tract adds at most one output per loop.
Result<Graph> export_scan_state(const Graph& graph);

/// Return the iterations of a loop; 1 for any other node.
Dim loop_iterations(const Graph& graph, const Node& node);

/// Declare that the caller keeps the states of all loops, so that loops keep nothing between runs.
/// Source: tract, transform `force_scan_external_state`.
Result<Graph> force_external_state(const Graph& graph);

}  // namespace rill::transforms
