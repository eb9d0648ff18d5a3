#pragma once

#include <string>

#include "cli/options.h"
#include "core/exec/plan.h"

namespace rill::cli {

/// Print a plan: its memory, then each step with its kind, node, kernel and arguments, and the
/// places that it reads and writes. The plan must have recorded these.
std::string plan_text(const Plan& plan);

/// Draw the use of a plan's arena over its steps as SVG: a box per buffer, from the first step that
/// writes it to the last one that needs it, at its offset in the arena.
std::string arena_picture(const Plan& plan, const std::string& title);

}  // namespace rill::cli
