#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Return whether the body of a loop computes a GRU, an LSTM or a plain recurrent layer.
bool is_recurrent_layer(const Scan& scan);

/// Replace a loop whose body computes a GRU, an LSTM or a plain recurrent layer, told by its
/// dataflow, by the op that runs it at once. Leaves other loops alone.
Status fuse_recurrent(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
