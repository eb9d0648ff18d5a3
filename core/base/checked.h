#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rill {

/// Multiply, or nothing if the product does not fit.
inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Add, or nothing if the sum does not fit.
inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Multiply all extents, or nothing if one is negative or the product does not fit.
inline std::optional<int64_t> checked_volume(std::span<const int64_t> extents) {
  int64_t volume = 1;
  bool empty = false;
  for (const int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
  }
  if (empty) return 0;
  for (const int64_t extent : extents) {
    if (__builtin_mul_overflow(volume, extent, &volume)) return std::nullopt;
  }
  return volume;
}

}  // namespace rill
