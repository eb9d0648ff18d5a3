#pragma once

#include "core/graph/graph.h"

namespace rill {

/// Fail unless two graphs have the same nodes: operators, attributes, loop bodies, types, shapes
/// and constants, bit for bit. The comparison ignores names, the order of nodes, unused nodes, the
/// names of symbols that operators introduce, and operators that only change extents.
/// Errors: kInternal, with the node of `expected` and what differs.
Status expect_same(const Graph& expected, const Graph& found);

}  // namespace rill
