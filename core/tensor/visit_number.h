#pragma once

#include <cstdint>
#include <type_traits>

#include "core/tensor/dtype.h"

namespace rill {

/// Call `visitor(T{})` with the type that elements have in memory. Return false for bool, strings,
/// dims and quantised types.
template <class Visitor>
bool visit_number(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kU8:
      visitor(uint8_t{});
      return true;
    case DType::kU16:
      visitor(uint16_t{});
      return true;
    case DType::kU32:
      visitor(uint32_t{});
      return true;
    case DType::kU64:
      visitor(uint64_t{});
      return true;
    case DType::kI8:
      visitor(int8_t{});
      return true;
    case DType::kI16:
      visitor(int16_t{});
      return true;
    case DType::kI32:
      visitor(int32_t{});
      return true;
    case DType::kI64:
      visitor(int64_t{});
      return true;
    case DType::kF16:
      visitor(Half{});
      return true;
    case DType::kBF16:
      visitor(BFloat16{});
      return true;
    case DType::kF32:
      visitor(float{});
      return true;
    case DType::kF64:
      visitor(double{});
      return true;
    default:
      return false;
  }
}

/// As `visit_number`, for the listed types only; return false for all others, which add no code.
template <class... Types, class Visitor>
bool visit_one_of(DType dtype, Visitor&& visitor) {
  bool visited = false;
  visit_number(dtype, [&](auto tag) {
    if constexpr ((std::is_same_v<decltype(tag), Types> || ...)) {
      visitor(tag);
      visited = true;
    }
  });
  return visited;
}

/// The type of arithmetic on numbers that are stored as T.
template <class T>
using Computed =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

}  // namespace rill
