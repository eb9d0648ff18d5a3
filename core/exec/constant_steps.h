#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec/plan.h"

namespace rill {

/// Run the steps that read only constants, and keep their results in the plan. The results are
/// bit-identical, because the same steps run. `uses` has one entry per step, and afterwards one per
/// remaining step. Call this before memory is laid out. Steps with large results stay, because a
/// plan that runs once gains nothing. Errors: kNoMem.
Status run_constant_steps(const Graph& graph, std::vector<StepUse>* uses, Plan* plan);

}  // namespace rill
