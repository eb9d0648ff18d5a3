#include "core/dim/fraction.h"

#include <cmath>

namespace rill {

std::optional<std::pair<int64_t, int64_t>> simple_fraction(float scale, Rounded how) {
  constexpr int64_t kMostDivisor = 4096;
  constexpr double kMostBinary = 1e6;
  constexpr double kMostOther = 64.0;
  for (int64_t q = 1; q <= kMostDivisor; ++q) {
    const bool binary = (q & (q - 1)) == 0;
    const double scaled = static_cast<double>(scale) * static_cast<double>(q);  // exact
    const double p = std::round(scaled);
    if (!(p >= 1.0 && p <= (binary ? kMostBinary : kMostOther))) continue;
    if (static_cast<float>(p / static_cast<double>(q)) != scale) continue;
    // If the exact product is an integer, the float product rounds to it, unless the relative error
    // of the scale exceeds 2^-25, half the spacing of floats whose significand is nearly 2. With
    // `kDown`, a scale that is too large also gives that integer.
    const double below = p - scaled;
    const double most = p * 0x1p-25;
    if (below > most || (how == Rounded::kAny && -below > most)) return std::nullopt;
    return std::pair(static_cast<int64_t>(p), q);
  }
  return std::nullopt;
}

}  // namespace rill
