#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/graph/graph.h"

namespace rill::cli {

/// Count operators by name, those of loop bodies included.
std::map<std::string, int64_t, std::less<>> count_ops(const Graph& graph);

}  // namespace rill::cli
