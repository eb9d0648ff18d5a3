#pragma once

#include <span>

#include "core/exec/plan.h"

namespace rill::ops {

/// List the kinds of steps of this build.
std::span<const StepKind* const> step_table();

/// A kind of steps that runs without graphs and operators, and its linker symbol.
struct RunKind {
  const char* name;
  const char* symbol;
};
std::span<const RunKind> run_kinds();

}  // namespace rill::ops
