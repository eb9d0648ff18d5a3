#pragma once

#include <string>

#include "cli/args.h"
#include "core/exec/plan.h"

namespace rill::cli {

/// Write a plan out for people: its memory, then each step with its kind, its node, its kernel and
/// arguments, and the places that it reads and writes. The plan notes what its steps use.
std::string plan_text(const Plan& plan);

/// Draw how the arena of a plan is used over its steps, as SVG: a box per buffer, from the step
/// that writes it first to the last one that needs it, at its bytes of the arena.
std::string arena_picture(const Plan& plan, const std::string& title);

}  // namespace rill::cli
