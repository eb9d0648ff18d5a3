#pragma once

#include <vector>

#include "kernels/cpu.h"
#include "kernels/tiers.h"

namespace rill::kernels {

/// List the tiers of this build that this CPU can run.
inline std::vector<Tier> tiers() {
  std::vector<Tier> found;
  for (const Tier tier : kAllTiers) {
    if (tier == Tier::kScalar && !RILL_HAS_SCALAR) continue;
    if (supports(detected_tier(), tier)) found.push_back(tier);
  }
  return found;
}

}  // namespace rill::kernels
