#pragma once

#include "core/graph/graph.h"

namespace rill::transforms {

/// Hand the state of loops to the caller: every constant first value of a loop that runs once
/// becomes an input of the model, `<loop>.state_in`, and the value after that run an output,
/// `<loop>.state_out`; of several states the second and later ones end in `_1`, `_2`. Loops that
/// run several times, skip iterations, or whose state is an input already, are left alone.
/// A loop that runs once without keeping anything then dissolves into the graph around it.
/// Source: tract, transform `export_scan_state`; there one output at most is added per loop.
Result<Graph> export_scan_state(const Graph& graph);

/// Return the iterations of a loop; 1 for any other node.
Dim loop_iterations(const Graph& graph, const Node& node);

/// State that the caller of the model keeps the states of all loops: between runs they keep
/// nothing.
/// Source: tract, transform `force_scan_external_state`.
Result<Graph> force_external_state(const Graph& graph);

}  // namespace rill::transforms
