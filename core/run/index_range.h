#pragma once

#include "core/base/refusal.h"
#include "core/run/plan.h"

namespace rill {

/// Check that the elements of an input are in its range, if it holds indices. `values` has the type
/// of the input. Errors: kArg. Real-time: yes.
Refusal check_index_range(const PlanIo& io, const View& values) RILL_NONBLOCKING;

}  // namespace rill
