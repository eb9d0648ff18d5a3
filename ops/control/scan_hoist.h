#pragma once

#include "core/graph/rewrite.h"

namespace rill::ops {

struct Scan;

/// Hoist slices with a fixed range out of a loop's body if they slice inputs that are passed whole:
/// they are the same in every iteration. So a few frames replace an input as long as the stream.
/// Other loops stay unchanged.
Status hoist_slices(const Scan& scan, Rewrite& rewrite);

}  // namespace rill::ops
