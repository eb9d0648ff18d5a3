#pragma once

#include <cstdint>

namespace rill::kernels {
namespace {

/// Compute a * b + c, rounded once like the fused instruction of CPUs that have it.
inline float fused(float a, float b, float c) {
#if defined(_WIN32) && !defined(__FMA__)
  // The C library of this system rounds twice. A product of floats is exact as a double. Rounding
  // the sum to odd makes the final rounding to float equal to a single rounding.
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double term = c;
  double sum = product + term;
  const double back = sum - product;
  const double rest = (product - (sum - back)) + (term - back);
  if (rest > 0 || rest < 0) {
    auto bits = __builtin_bit_cast(uint64_t, sum);
    if ((bits & 1) == 0) bits += (rest > 0) == (sum > 0) ? uint64_t{1} : ~uint64_t{0};
    sum = __builtin_bit_cast(double, bits);
  }
  return static_cast<float>(sum);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// Compute a * b + c like the scalar tier of this platform: rounded once, like vector tiers with
/// the instruction. WebAssembly has no such instruction and rounds twice; a fused multiply-add
/// would be a library call of about a hundred instructions.
inline float mul_add(float a, float b, float c) {
#ifdef __wasm__
  return a * b + c;
#else
  return fused(a, b, c);
#endif
}

}  // namespace
}  // namespace rill::kernels
