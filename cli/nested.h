#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/graph/graph.h"

namespace rill::cli {

/// Tell the graph that an operator runs for each of its turns; null if it has none.
const Graph* body_of(const Op& op);

/// Count operators by name, those of loop bodies included.
std::map<std::string, int64_t, std::less<>> count_ops(const Graph& graph);

}  // namespace rill::cli
