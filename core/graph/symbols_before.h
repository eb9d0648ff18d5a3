#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace rill {

/// Return the symbols of the sizes from which a wire is computed; nothing if it also depends on an
/// input of the model. They name what decides an open condition.
std::vector<std::string> symbols_before(const Graph& graph, OutletId wire);

}  // namespace rill
