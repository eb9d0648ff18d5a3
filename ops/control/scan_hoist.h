#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Hoist slices with fixed ranges of whole inputs out of a loop's body: they are the same in every
/// iteration. An input as long as a stream then becomes a few frames. Other loops stay unchanged.
Status hoist_slices(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
