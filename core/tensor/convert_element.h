#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensor/view.h"
#include "core/tensor/visit_number.h"

namespace rill {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    // Converting the limit to From may round it up, out of range. So compare with the power of 2
    // above it.
    constexpr From kTop = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (value >= kTop) return std::numeric_limits<To>::max();
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// A boolean stored as a byte.
struct Bool {
  uint8_t byte = 0;
};

template <class From>
bool truth(From value) {
  if constexpr (std::is_same_v<From, Bool>) {
    return value.byte != 0;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return static_cast<float>(value) != 0.0F;
  } else {
    return value != From{};
  }
}

template <class To, class From>
To convert_element(From value) {
  if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<uint8_t>(truth(value) ? 1 : 0)};
  } else if constexpr (std::is_same_v<From, Bool>) {
    return convert<To>(static_cast<uint8_t>(value.byte != 0 ? 1 : 0));
  } else {
    return convert<To>(value);
  }
}

/// Iterates over the rows of two views of one shape, in row-major order. Adjacent axes that are
/// contiguous in both views form one row.
class PairedRows {
 public:
  [[gnu::noinline]] PairedRows(const View& a, const View& b) : a_(a), b_(b), outer_(a.rank) {
    for (; outer_ > 0; --outer_) {
      const auto i = static_cast<size_t>(outer_) - 1;
      if (a.shape[i] == 1) continue;
      if (count == 1) {
        step_a = a.stride[i];
        step_b = b.stride[i];
      } else if (a.stride[i] != step_a * count || b.stride[i] != step_b * count) {
        break;
      }
      count *= a.shape[i];
    }
  }
  /// Move to the next row; return false after the last one.
  [[gnu::noinline]] bool next() {
    for (int axis = outer_ - 1; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis);
      at_a += a_.stride[i];
      at_b += b_.stride[i];
      if (++index_[i] < a_.shape[i]) return true;
      at_a -= a_.stride[i] * a_.shape[i];
      at_b -= b_.stride[i] * a_.shape[i];
      index_[i] = 0;
    }
    return false;
  }

  // Element i of a row is at offset + i * step, for i < count.
  int64_t at_a = 0, at_b = 0;
  int64_t step_a = 0, step_b = 0;
  int64_t count = 1;

 private:
  const View& a_;
  const View& b_;
  int outer_;
  std::array<int64_t, kMaxRank> index_{};
};

/// Call `body(offset_a, offset_b)` for the elements of two views of one shape, in row-major order.
template <class Body>
void for_each_pair(const View& a, const View& b, Body&& body) {
  if (a.volume() == 0) return;
  PairedRows rows(a, b);
  do {
    for (int64_t i = 0; i < rows.count; ++i) {
      body(rows.at_a + i * rows.step_a, rows.at_b + i * rows.step_b);
    }
  } while (rows.next());
}

template <class Visitor>
bool visit_type(DType dtype, Visitor&& visitor) {
  if (visit_number(stored_type(dtype), visitor)) return true;
  if (dtype != DType::kBool) return false;
  visitor(Bool{});
  return true;
}

}  // namespace rill
