#pragma once

#include <string>

#include "cli/notes.h"

namespace rill::cli {

/// Make a self-contained page of a profile: a table, the time by name, the fastest run over time,
/// and its live memory.
std::string profile_page(const std::string& model, const Graph& graph, const Notes& notes);

/// Make a trace of the fastest run, in the JSON format of trace events.
std::string profile_trace(const Graph& graph, const Notes& notes);

}  // namespace rill::cli
