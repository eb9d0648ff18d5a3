#pragma once

#include <type_traits>

namespace rill {

/// Give the bits of a number as one of another type. Standard libraries had `std::bit_cast` later
/// than compilers had this.
template <class To, class From>
  requires(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
           std::is_trivially_copyable_v<From>)
constexpr To bits_of(const From& value) noexcept {
  return __builtin_bit_cast(To, value);
}

}  // namespace rill
