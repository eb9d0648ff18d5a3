#pragma once

#include "core/tensor/view.h"

namespace rill {

/// Return `count` frames of a view along an axis, from frame `first`.
View frames_of(const View& view, int axis, int64_t first, int64_t count) RILL_NONBLOCKING;

}  // namespace rill
