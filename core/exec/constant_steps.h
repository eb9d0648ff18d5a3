#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec/plan.h"

namespace rill {

/// Run the steps that read nothing but constants, now and for the last time: what they give is kept
/// in the plan. These are the same steps, so that the outputs keep their bits.
/// `uses` has an entry per step, and of those that are left afterwards. Their memory is to be laid
/// out then.
/// Large results stay with the steps: a plan that runs once would gain nothing by them.
/// Errors: kNoMem.
Status run_constant_steps(const Graph& graph, std::vector<StepUse>* uses, Plan* plan);

}  // namespace rill
