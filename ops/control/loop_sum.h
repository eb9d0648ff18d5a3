#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Replace loops that add up frames, torch_to_nnef's form of `torch.cumsum`, by running sums. A
/// running sum starts at zero, as in PyTorch; the loop's start, a frame minus itself, would be NaN
/// for an infinite frame. Other loops stay unchanged.
Result<Graph> sum_loops(Graph graph);

/// Let such a loop start with a zero that does not depend on a frame. The loop itself stays.
Status start_at_zero(const Scan& scan, Rewrite& rewrite);

/// As `sum_loops` for one loop, in the fuse stage. The sum is still called Scan, because tract
/// counts loops by that name.
Status fuse_sum(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
