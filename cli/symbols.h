#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill::cli {

/// List the symbols that an input or an output of the graph mentions, and those that are only
/// declared.
std::vector<std::string> known_symbols(const Graph& graph);
/// Make a refusal that lists the existing symbols.
Status no_such_symbol(const std::string& symbol, const std::vector<std::string>& known);

/// Add the remedy to the error of a plan whose symbols are not all bound.
Status hint_to_bind(Status status);

}  // namespace rill::cli
