#pragma once

#include <string>

#include "cli/notes.h"
#include "core/graph/graph.h"

namespace rill::cli {

/// The annotations of a graph, with tract's keys: `dump --json`. One line.
std::string notes_json(const Graph& graph, const Notes& notes);

/// The whole graph, with tract's keys and nested graphs: `dump --audit-json`. Indented.
std::string audit_json(const Graph& graph, const Notes& notes);

}  // namespace rill::cli
