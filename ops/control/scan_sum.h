#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Make a loop that adds up frames from zero on, as torch_to_nnef writes `torch.cumsum`, the
/// operator for it. Its start is zero whatever the frames hold, as PyTorch's is; where it is
/// written as a frame less itself, a loop begins with NaN if that frame is infinite. Leaves other
/// loops alone.
Status sum_frames(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
