#pragma once

// Shared helpers for the tests of the dense families.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/testing.h"

namespace rill::kernels {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kGuard = 12345.0f;

/// Compare bits, except of NaN: the compiler decides which of two NaN operands an instruction
/// propagates.
inline bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

inline bool same(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

inline std::vector<float> random_floats(std::mt19937& rng, int64_t count) {
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& v : out) v = value(rng);
  return out;
}

inline int64_t random_int(std::mt19937& rng, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
}

/// Floats aligned to 64 bytes.
class AlignedFloats {
 public:
  explicit AlignedFloats(int64_t count) : store_(static_cast<size_t>(count) + 16) {}
  float* data() {
    const auto at = reinterpret_cast<uintptr_t>(store_.data());
    return store_.data() + (64 - at % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> store_;
};

}  // namespace rill::kernels
