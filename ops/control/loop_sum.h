#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Make the loops of a graph that add up frames from zero on, as torch_to_nnef writes
/// `torch.cumsum`, the operator for it. Their start is zero whatever the frames hold, as PyTorch's
/// is; where it is written as a frame less itself, a loop begins with NaN if that frame is
/// infinite. Leaves other loops alone.
Result<Graph> sum_loops(Graph graph);

/// Begin one such loop with a zero that needs no frame: without frames, there are no sums. It stays
/// a loop.
Status start_at_zero(const Scan& scan, Rewrite& rewrite);

/// The same as `sum_loops` for one loop, in the fuse stage: what runs the sum is still called Scan
/// there, because loops are counted by that name in tract.
Status fuse_sum(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
