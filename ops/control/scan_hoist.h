#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Take fixed ranges of inputs that a loop gets whole out of its body: they are the same in every
/// iteration. An input as long as a stream then is a few frames of it. Leaves other loops alone.
Status hoist_slices(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
