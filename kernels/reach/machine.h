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

/// Bandwidth of one core from a cache level, or from memory.
struct Level {
  std::string name;   ///< "L1", "L2", "L3", "memory"
  int64_t bytes = 0;  ///< its size; 0 for memory
  int64_t tried = 0;  ///< the bytes that were read repeatedly
  double gbytes = 0;  ///< GB/s
};

/// Measured limits of this machine.
struct Machine {
  std::vector<TierPeak> peaks;  ///< of all tiers that it has, the best first
  std::vector<Level> levels;    ///< from the first cache to memory

  double peak(Tier tier) const;
  /// Return the level that holds a working set of `bytes` bytes.
  const Level& level_of(int64_t bytes) const;
};

/// Measure the peak of a tier that this CPU has: the best of many short runs of independent chains.
/// NEON's is taken as four times that of scalar chains.
double peak_gflops(Tier tier);

/// Measure all peaks and bandwidths. Takes half a second.
Machine measure_machine();

}  // namespace rill::kernels
