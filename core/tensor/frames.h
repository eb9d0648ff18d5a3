#pragma once

#include "core/tensor/view.h"

namespace rill {

/// Return a part of a view along an axis: `count` frames, starting at `first`.
View frames_of(const View& view, int axis, int64_t first, int64_t count) RILL_NONBLOCKING;

}  // namespace rill
