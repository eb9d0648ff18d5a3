#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/splitmix.h"

namespace rill::audit {

/// Draws numbers: equal seeds give equal numbers on every machine.
class Draw : public Splitmix64 {
 public:
  using Splitmix64::Splitmix64;

  bool chance(int percent) { return in(1, 100) <= percent; }
  /// Return a log-uniform number in [low, high], low >= 1.
  int64_t log_in(int64_t low, int64_t high) {
    const double from = std::log(static_cast<double>(low));
    const double to = std::log(static_cast<double>(high) + 1);
    const auto drawn = static_cast<int64_t>(std::exp(from + unit() * (to - from)));
    return drawn < low ? low : drawn > high ? high : drawn;
  }
};

}  // namespace rill::audit
