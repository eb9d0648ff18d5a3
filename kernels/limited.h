#pragma once

#include <cstdint>

#include "kernels/nonblocking.h"

namespace rill::kernels {

/// min(max(x, lo), hi), in which a NaN loses, or stays with `keep_nan`; an infinite limit is left
/// out. As the vector kernels do it, bit for bit.
inline float limited(float x, float lo, float hi, bool keep_nan) {
  constexpr float kInfinity = __builtin_inff();
  if (keep_nan) {
    x = lo > x ? lo : x;
    return hi < x ? hi : x;
  }
  if (lo > -kInfinity) x = x > lo ? x : lo;
  if (hi < kInfinity) x = x < hi ? x : hi;
  return x;
}

/// The larger one of x and its product with a slope from 0 to 1: a leaky ReLU. A NaN stays.
inline float leaked(float x, float slope) {
  const float less = x * slope;
  return less > x ? less : x;
}

/// Limit rows of x in place; a NaN stays. Kernels call it when they are done: within their tiles it
/// would double the code of all.
void limit_rows(float* x, int64_t rows, int64_t columns, int64_t row_stride, float lo,
                float hi) noexcept RILL_NONBLOCKING;

}  // namespace rill::kernels
