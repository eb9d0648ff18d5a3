#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu.h"

namespace rill::kernels {

/// The peak of f32 multiply-adds of a tier, on one core.
struct TierPeak {
  Tier tier = Tier::kScalar;
  double gflops = 0;
};

/// How fast one core reads memory that lies in a cache, or in none.
struct Level {
  std::string name;   ///< "L1", "L2", "L3", "memory"
  int64_t bytes = 0;  ///< its size; 0 for memory
  int64_t tried = 0;  ///< how many bytes were read over and over
  double gbytes = 0;  ///< GB/s
};

/// What this machine can do, measured.
struct Machine {
  std::vector<TierPeak> peaks;  ///< of all tiers that it has, the best first
  std::vector<Level> levels;    ///< from the first cache to memory

  double peak(Tier tier) const;
  /// Where a working set of that many bytes lies.
  const Level& level_of(int64_t bytes) const;
};

/// Measure the peak of a tier that this CPU has: the best of many short runs of independent chains.
/// NEON's is taken as four times that of scalar chains.
double peak_gflops(Tier tier);

/// Measure all peaks and bandwidths; half a second.
Machine measure_machine();

}  // namespace rill::kernels
