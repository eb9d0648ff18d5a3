#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Replace a loop whose dataflow is a GRU, an LSTM or a plain recurrent layer by the op that runs
/// the whole layer. Leaves other loops alone.
Status fuse_recurrent(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
