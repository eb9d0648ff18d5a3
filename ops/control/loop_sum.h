#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Replace loops that add up frames, torch_to_nnef's form of `torch.cumsum`, by cumulative sums.
/// Such a sum starts at zero, as in PyTorch. The loop starts with a frame minus itself, which is
/// NaN for an infinite frame. Other loops stay unchanged.
Result<Graph> sum_loops(Graph graph);

/// Make a loop that adds up frames start with a constant zero. The loop itself stays.
Status start_at_zero(const Scan& scan, Rewrite& rewrite);

/// Replace one loop as `sum_loops` does, in the fuse stage. The sum is still called Scan, because
/// tract counts loops by that name.
Status fuse_sum(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
