#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

namespace rill::kernels {

/// Compute min(max(x, lo), hi). NaN stays, and a zero that equals a limit keeps its sign. The bits
/// equal those of the vector kernels.
template <class T>
T limited(T x, T lo, T hi) {
  x = lo > x ? lo : x;
  return hi < x ? hi : x;
}

/// Compute a leaky ReLU: max(x, slope * x), with a slope in [0, 1]. NaN stays.
template <class T>
T leaked(T x, T slope) {
  const T less = x * slope;
  return less > x ? less : x;
}

}  // namespace rill::kernels
