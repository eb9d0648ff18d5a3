#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

namespace rill::kernels {

/// Compute min(max(x, lo), hi); a NaN stays, and so does the sign of a zero that equals a limit. As
/// the vector kernels do it, bit for bit.
inline float limited(float x, float lo, float hi) {
  x = lo > x ? lo : x;
  return hi < x ? hi : x;
}

/// The larger one of x and its product with a slope from 0 to 1: a leaky ReLU. A NaN stays.
inline float leaked(float x, float slope) {
  const float less = x * slope;
  return less > x ? less : x;
}

}  // namespace rill::kernels
