#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/base/status.h"
#include "core/run/place_plan.h"
#include "plan_file/limits.h"

namespace rill::plan_file {

/// Open the plan of a file as `open` does, without graphs and operators: in one block of memory,
/// except for the constants, which stay where they are as long as `owner` lives. The file need not
/// be trusted: the memory that steps touch is checked, in time linear in the records. Errors: those
/// of `open`; kUnsupported too for steps that need graphs.
Result<std::shared_ptr<const Plan>> place(std::span<const std::byte> bytes,
                                          std::shared_ptr<const void> owner, const Runner& runner,
                                          const Limits& limits = {});

}  // namespace rill::plan_file
