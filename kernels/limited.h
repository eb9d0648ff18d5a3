#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

namespace rill::kernels {

/// Compute min(max(x, lo), hi). NaN stays, and a zero that equals a limit keeps its sign. The bits
/// equal those of the vector kernels.
inline float limited(float x, float lo, float hi) {
  x = lo > x ? lo : x;
  return hi < x ? hi : x;
}

/// Compute a leaky ReLU: max(x, slope * x), with a slope in [0, 1]. NaN stays.
inline float leaked(float x, float slope) {
  const float less = x * slope;
  return less > x ? less : x;
}

}  // namespace rill::kernels
