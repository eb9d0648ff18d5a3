#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "audit/audit.h"
#include "core/exec/plan.h"
#include "core/graph/graph.h"

namespace rill::audit {

/// Stream lengths at which a condition may change, in the stream symbol.
struct Lengths {
  std::vector<int64_t> edges;  ///< ascending: both sides of every point found, and the points
  int64_t period = 1;          ///< past `settled`, the behaviour of wires repeats with it
  int64_t settled = 0;         ///< the largest of the points
  int64_t open = 0;            ///< expressions with unknown pattern
};

/// Find the lengths at which an extent of a wire becomes positive, its pattern changes, or an
/// assertion or a table ends. Also take every number in an attribute or a small constant, counted
/// in the stream symbol. Lengths over `most` are omitted.
Lengths lengths_of(const Graph& whole, const Plan& streamed, int64_t most);

/// Return the windows of a pulsed plan that stream frames fill.
std::vector<Window> windows_of(const Plan& plan);

}  // namespace rill::audit
