#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec/plan.h"

namespace rill {

/// The buffers that a step of a plan reads, and those that it writes or keeps its own things in.
struct StepUse {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
};

/// Run the steps that read nothing but constants, now and for the last time: what they give is kept
/// in the plan. These are the same steps, so that the outputs keep their bits.
/// `uses` has an entry per step; the steps that are left need their memory laid out afterwards.
/// Large results stay with the steps: a plan that runs once would gain nothing by them.
/// Errors: kNoMem.
Status run_constant_steps(const Graph& graph, std::span<const StepUse> uses, Plan* plan);

}  // namespace rill
