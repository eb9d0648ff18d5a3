#pragma once

#include "kernels/cpu.h"

namespace rill::kernels {

/// A CPU that plans may be made for, on whatever machine.
struct Target {
  Tier tier = Tier::kScalar;
  bool dot_products = false;
};

/// Find the target of a name: that of a tier, with "vnni" or "dotprod" behind it where the CPU
/// multiplies and adds four bytes in one instruction; "sse4" and "wasm" are "sse42", whose kernels
/// browsers run. Returns false, and leaves `target` alone, if there is none.
bool target_from_name(const char* name, Target* target);

/// Return the name of a target, as plan files have it.
const char* target_name(const Target& target);

/// Return the target of this CPU, as far as `set_tier_limit` lets it be used.
Target running_target();

/// Return how good plans for the target of a name are here; -1 if they cannot run.
int target_rank(const char* name);

}  // namespace rill::kernels
