#pragma once

#include <span>

#include "emit_c/step_writer.h"

namespace rill::ops {

/// List the kinds of steps of this build that have C.
std::span<const emit_c::StepText* const> emit_table();

}  // namespace rill::ops
