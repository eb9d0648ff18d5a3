#pragma once

#include <string>

#include "cli/notes.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// Return the annotations of a graph in one line, with tract's keys, for `dump --json`.
std::string notes_json(const Graph& graph, const Notes& notes);

/// Return the whole graph, indented, with tract's keys and nested graphs, for `dump --audit-json`.
std::string audit_json(const Graph& graph, const Notes& notes);

}  // namespace rill::cli
