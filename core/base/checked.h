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

/// More elements than any tensor has; the bytes of fewer fit in 64 bits whatever their type.
inline constexpr int64_t kMostElements = int64_t{1} << 56;

/// Multiply all extents, or nothing if one is negative or the product is beyond `kMostElements`. An
/// axis without elements does not excuse the others: strides are products of them.
inline std::optional<int64_t> checked_volume(std::span<const int64_t> extents) {
  int64_t volume = 1;
  bool empty = false;
  for (const int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    empty |= extent == 0;
    if (extent == 0) continue;
    if (__builtin_mul_overflow(volume, extent, &volume) || volume > kMostElements) {
      return std::nullopt;
    }
  }
  return empty ? 0 : volume;
}

}  // namespace rill
