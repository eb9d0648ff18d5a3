#pragma once

#include "core/graph/graph.h"

namespace rill {

/// Fail unless two graphs compute the same by the same nodes: operators, attributes, loop bodies,
/// types, shapes and constants, bit for bit. Names and the order of nodes do not count, nor do
/// nodes that no output needs, how symbols are called that operators introduce, and by which
/// operators elements get other extents in the same order.
/// Errors: kInternal, with the node of `expected` and what differs.
Status expect_same(const Graph& expected, const Graph& found);

}  // namespace rill
