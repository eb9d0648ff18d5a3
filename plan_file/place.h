#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/exec/property.h"
#include "core/run/place_plan.h"
#include "plan_file/limits.h"

namespace rill::plan_file {

/// A plan, and the properties of its model.
struct OpenedAlone {
  std::shared_ptr<const Plan> plan;
  std::vector<Property> properties;
};

/// Open the plan of a file as `open` does, without graphs and operators: in one block of memory,
/// but for the constants, which stay where they are as long as `owner` lives. The file need not be
/// trusted: whatever a step could touch is checked, in time linear in the records.
/// Errors: those of `open`; kUnsupported too for steps that only graphs can run.
Result<OpenedAlone> place(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const Runner& runner, const Limits& limits = {});

}  // namespace rill::plan_file
