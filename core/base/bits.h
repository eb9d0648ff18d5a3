#pragma once

#include <cstdint>

namespace rill {

/// Return the bits of a value as another type of the same size. `std::bit_cast` needs libc++ 14.
template <class To, class From>
constexpr To bit_cast(const From& value) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

/// Rotate bits towards the most significant bit, as `std::rotl` does.
constexpr uint64_t rotate_left(uint64_t value, int by) noexcept {
  return value << by | value >> (64 - by);
}

}  // namespace rill
