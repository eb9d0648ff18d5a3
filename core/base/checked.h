#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/limits.h"
#include "core/base/nonblocking.h"

namespace rill {

/// Return the product; nothing if it overflows.
inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Return the sum; nothing if it overflows.
inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// An integer from an untrusted file, for arithmetic. If a sum, difference or product overflows, it
/// has no value, and neither has any result computed from it. Only a range check returns the value,
/// so that no unchecked result is used.
class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}  // NOLINT: every number may be checked

  bool within(int64_t least, int64_t most) const RILL_NONBLOCKING;
  /// Return the value if it lies in the range, ends included.
  std::optional<int64_t> value(int64_t least, int64_t most) const {
    return within(least, most) ? std::optional(value_) : std::nullopt;
  }
  /// Return the value if it lies in [0, `most`], else `most`. For sizes that are compared with a
  /// limit.
  int64_t at_most(int64_t most) const RILL_NONBLOCKING;

  friend Checked operator+(Checked a, Checked b) RILL_NONBLOCKING;
  friend Checked operator-(Checked a, Checked b) RILL_NONBLOCKING;
  friend Checked operator*(Checked a, Checked b) RILL_NONBLOCKING;
  Checked& operator+=(Checked b) { return *this = *this + b; }
  Checked& operator*=(Checked b) { return *this = *this * b; }
  friend bool operator==(Checked a, Checked b) RILL_NONBLOCKING;
  friend bool operator<=(Checked a, Checked b) RILL_NONBLOCKING;

 private:
  /// Marks a missing value, for which `within` is false.
  static constexpr int64_t kNone = INT64_MIN;

  int64_t value_;
};

/// Wrap a number from a file for checked arithmetic.
constexpr Checked checked(int64_t value) { return value; }

/// Return the product of all extents; nothing if one is negative or the product exceeds
/// `kMostElements`. An extent of 0 does not excuse the others, since strides are products of
/// extents.
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
