#pragma once

#include "core/base/status.h"
#include "core/run/plan.h"

namespace rill::plan_file {

/// Look at a plan whose numbers may be anything: each place that a step, a ring, a state or an
/// input could touch lies inside its memory, and all that steps take for granted holds. Gives how
/// many elements a run touches, counted once per loop: about how long it takes.
/// Errors: kParse.
Result<int64_t> check(const Plan& plan);

}  // namespace rill::plan_file
