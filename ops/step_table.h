#pragma once

#include <span>

#include "core/exec/plan.h"

namespace rill::ops {

/// List the kinds of steps of this build.
std::span<const StepKind* const> step_table();

}  // namespace rill::ops
