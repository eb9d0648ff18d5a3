#pragma once

#include <span>
#include <string>

#include "audit/modes.h"
#include "pulse/sliding.h"

namespace rill::audit {

/// Compute the frames of a windowed stream by one run of the whole graph per window. `slid`: the
/// graph made by `pulse::slide`. Errors: if the whole graph is not defined for the frames of the
/// window.
Outputs run_windows(const Graph& whole, const Graph& slid, int64_t length,
                    std::span<const Tensor> inputs, Deadline until);

}  // namespace rill::audit
