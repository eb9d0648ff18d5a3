#pragma once

#include <cstdint>

namespace rill {

/// Pseudorandom numbers from a seed, the same on every platform.
/// Source: G. Steele, D. Lea and C. Flood, Fast Splittable Pseudorandom Number Generators, 2014.
class Splitmix64 {
 public:
  explicit Splitmix64(uint64_t seed) : state_(seed) {}
  /// Return 64 random bits.
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// Return a number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// Return a number in [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  uint64_t state_;
};

}  // namespace rill
