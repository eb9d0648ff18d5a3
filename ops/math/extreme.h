#pragma once

#include <type_traits>

namespace rill::ops {

template <class W>
bool is_unordered(W value) {
  if constexpr (std::is_floating_point_v<W>) return value != value;
  return false;
}

/// Return whether a number is more extreme than the best one so far. NaN is the most extreme.
template <class W>
bool is_better(bool largest, W value, W best) {
  if (is_unordered(value)) return !is_unordered(best);
  return largest ? value > best : value < best;
}

/// Return whether two numbers are equally extreme.
template <class W>
bool is_as_good(W value, W best) {
  return value == best || (is_unordered(value) && is_unordered(best));
}

}  // namespace rill::ops
