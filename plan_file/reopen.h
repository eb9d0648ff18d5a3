#pragma once

#include <cstddef>
#include <span>

#include "plan_file/read.h"
#include "plan_file/write.h"

namespace rill::plan_file {

/// Open what was written of plans, target by target, and compare it with them: both must be written
/// as the same bytes. A plan with kernels that this CPU cannot run is checked as it is in memory.
/// Errors: kInternal, with the node of the first step that differs; kNoMem and kUnsupported for a
/// plan that the default limits refuse.
Status expect_reopens(std::span<const std::byte> file, std::span<const TargetPlan> plans,
                      std::span<const StepKind* const> steps,
                      std::span<const OpModule* const> modules, const WriteOptions& options);

}  // namespace rill::plan_file
