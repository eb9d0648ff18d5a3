#pragma once

#include <cmath>
#include <cstdint>

namespace rill::audit {

/// Draws numbers by Splitmix64: equal seeds give equal numbers on every machine.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// A number in [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }
  /// A number in [0, 1).
  double fraction() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// A number in [low, high], low at least 1, with every number of digits as likely as another.
  int64_t log_in(int64_t low, int64_t high) {
    const double from = std::log(static_cast<double>(low));
    const double to = std::log(static_cast<double>(high) + 1);
    const auto drawn = static_cast<int64_t>(std::exp(from + fraction() * (to - from)));
    return drawn < low ? low : drawn > high ? high : drawn;
  }

 private:
  uint64_t state_;
};

}  // namespace rill::audit
