#pragma once

#include <string>

#include "cli/notes.h"

namespace rill::cli {

/// Make a page that shows a profile: a table, where the time goes by name, the fastest run over
/// time, and the memory that is live meanwhile. It needs nothing but itself.
std::string profile_page(const std::string& model, const Graph& graph, const Notes& notes);

/// Make a trace of the fastest run, in the JSON format of trace events.
std::string profile_trace(const Graph& graph, const Notes& notes);

}  // namespace rill::cli
