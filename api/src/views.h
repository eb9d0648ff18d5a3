#pragma once

#include "api/src/handles.h"
#include "core/base/nonblocking.h"

namespace rill::api {

/// Check type, rank, shape and memory of a caller's view against the plan. The axis `frames`,
/// unless -1, may have any extent.
rill_status check_view(const char* function, const IoText& io, const rill_view* view,
                       int frames = -1) RILL_NONBLOCKING;

/// Convert a checked view to the runtime's form. Missing strides mean row-major.
View view_of(const IoText& io, const rill_view& view) RILL_NONBLOCKING;

}  // namespace rill::api
