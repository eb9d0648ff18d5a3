#pragma once

#include <cstdint>

namespace rill::kernels {
namespace {

/// Tell the bits of a half as f32. By integers only, so that it works with denormals switched off:
/// those of f16 are numbers like all others.
inline uint32_t float_bits_of_half(uint32_t half) {
  const uint32_t sign = (half & 0x8000u) << 16u;
  const uint32_t mantissa = half & 0x3FFu;
  const uint32_t exponent = half >> 10u & 31u;
  if (exponent == 31) return sign | 0x7F800000u | mantissa << 13u;
  if (exponent > 0) return sign | (exponent + 112u) << 23u | mantissa << 13u;
  if (mantissa == 0) return sign;
  const auto up = static_cast<uint32_t>(__builtin_clz(mantissa)) - 21u;
  return sign | (113u - up) << 23u | (mantissa << up & 0x3FFu) << 13u;
}

}  // namespace
}  // namespace rill::kernels
