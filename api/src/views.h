#pragma once

#include "api/src/handles.h"
#include "core/base/nonblocking.h"

namespace rill::api {

/// Check type, rank, shape and memory of a caller's view against what the plan expects. On the axis
/// `frames`, unless it is -1, there may be any number.
rill_status check_view(const char* function, const IoText& io, const rill_view* view,
                       int frames = -1) RILL_NONBLOCKING;

/// A checked view as the runtime has it. Strides that are not given are row-major.
View view_of(const IoText& io, const rill_view& view) RILL_NONBLOCKING;

}  // namespace rill::api
