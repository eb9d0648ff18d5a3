#pragma once

#include <string_view>

#include "kernels/cpu.h"

namespace rill::kernels {

/// A CPU for which plans can be made on any machine.
struct Target {
  Tier tier = Tier::kScalar;
  bool dot_products = false;
};

/// Find the target of a name: a tier's name, with the suffix "vnni" or "dotprod" if the CPU has
/// int8 dot products. "sse4" and "wasm" mean "sse42", whose kernels browsers run. If there is no
/// such target, return false and leave `target` unchanged.
bool target_from_name(std::string_view name, Target* target);

/// Return the name of a target in plan files.
const char* target_name(const Target& target);

/// Return the target of this CPU, capped by `set_tier_limit`.
Target running_target();

/// Return how well plans for the named target fit this CPU; -1 if they cannot run.
int target_rank(std::string_view name);

}  // namespace rill::kernels
