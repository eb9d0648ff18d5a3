#pragma once

#include <memory>
#include <string_view>

#include "core/graph/graph.h"

namespace rill::pulse {

/// Write joins and constant pads of positions as selects by position. A mask of learned keys before
/// a window, such as cat([ones(S, P), window(S, S)], 1), becomes where(j < P, 1, window(i, j -
/// P)): a function of positions, which `core/positions` interprets. `body`: the nodes between
/// scores and values. A join that is not of this form stays.
Result<std::shared_ptr<const Graph>> place_joins(std::shared_ptr<const Graph> body,
                                                 std::string_view symbol);

}  // namespace rill::pulse
