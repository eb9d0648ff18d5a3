#pragma once

#include <span>

#include "emit_c/step_writer.h"
#include "kernels/cpu.h"

namespace rill::ops {

/// Return how the kernels of a tier compute. Only SSE4.2 lacks fused multiply-adds, and rounds
/// products before it adds them.
inline emit_c::Arithmetic arithmetic_of(kernels::Tier tier) {
  switch (tier) {
    case kernels::Tier::kScalar:
      return {true, 1};
    case kernels::Tier::kSse42:
      return {false, 4};
    case kernels::Tier::kAvx2:
      return {true, 8};
    case kernels::Tier::kAvx512:
      return {true, 16};
    case kernels::Tier::kNeon:
      return {true, 4};
  }
  return {};
}

/// List the kinds of steps of this build that can be written as C.
std::span<const emit_c::StepText* const> emit_table();

}  // namespace rill::ops
