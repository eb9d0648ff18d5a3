#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec/plan.h"

namespace rill {

/// Run the steps that read only constants now, and keep their results in the plan instead. The same
/// steps run as would in every run, so the outputs keep their bits. `uses` has an entry per step,
/// and afterwards one per remaining step; memory must be laid out after this. Steps with large
/// results stay: a plan that runs once would gain nothing. Errors: kNoMem.
Status run_constant_steps(const Graph& graph, std::vector<StepUse>* uses, Plan* plan);

}  // namespace rill
