#pragma once

#include <cstdint>

namespace rill {

/// Read the bits of a value as those of another type of the same size, as `std::bit_cast`, which
/// libc++ has from version 14 on.
template <class To, class From>
constexpr To bit_cast(const From& value) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

/// Rotate bits towards the higher ones, as `std::rotl`.
constexpr uint64_t rotate_left(uint64_t value, int by) noexcept {
  return value << by | value >> (64 - by);
}

}  // namespace rill
