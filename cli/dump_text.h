#pragma once

#include <string>

#include "cli/axis_names.h"
#include "cli/notes.h"
#include "cli/options.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Draw a graph: a line per node with the wires that live next to it, then properties, assertions
/// and scenarios.
std::string graph_drawing(const Graph& graph, const ViewOptions& view, const Notes& notes,
                          const AxisNames& axes, bool colors);

/// Print inputs, outputs and operators of a graph.
std::string graph_summary(const Graph& graph, const Notes& notes);

/// Return a fact as text, with the value of a constant.
std::string fact_text(const Fact& fact);

}  // namespace rill::cli
