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

/// Open the plan of a file as `open` does, but without graphs and operators: in one block of
/// memory, except for the constants, which remain in the file's bytes as long as `owner` lives. The
/// file need not be trusted: all memory that a step could touch is checked, in time linear in the
/// records.
/// Errors: those of `open`; also kUnsupported for steps that only graphs can run.
Result<OpenedAlone> place(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const Runner& runner, const Limits& limits = {});

}  // namespace rill::plan_file
