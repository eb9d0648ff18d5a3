#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Replace a loop whose body computes a GRU, an LSTM or a plain recurrent layer, told by its
/// dataflow, by the op that runs it at once. Leaves other loops alone.
Status fuse_recurrent(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
