#pragma once

#include <vector>

#include "kernels/cpu.h"

namespace rill::kernels {

/// List the tiers that this CPU can run.
inline std::vector<Tier> tiers() {
  std::vector<Tier> found;
  for (const Tier tier : kAllTiers) {
    if (supports(detected_tier(), tier)) found.push_back(tier);
  }
  return found;
}

}  // namespace rill::kernels
