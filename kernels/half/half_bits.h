#pragma once

#include <cstdint>

namespace rill::kernels {
namespace {

/// Return the bits of an f16 as f32. Uses integers only, so that it works with denormals switched
/// off: denormals of f16 are normal numbers of f32.
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

/// Return the half that is nearest to those bits of an f32; of two, the even one.
inline uint32_t nearest_half_of_float_bits(uint32_t bits) {
  const uint32_t sign = bits >> 16u & 0x8000u;
  const uint32_t size = bits & 0x7FFFFFFFu;
  if (size > 0x7F800000u) return sign | 0x7E00u | (size >> 13u & 0x3FFu);
  if (size >= 0x477FF000u) return sign | 0x7C00u;
  if (size < 0x33000000u) return sign;
  // Subnormal f16 count 2^-24; others keep 10 bits behind the leading one, under a smaller bias.
  const bool small = size < 0x38800000u;
  const uint32_t away = small ? 126u - (size >> 23u) : 13u;
  const uint32_t value = small ? (size & 0x7FFFFFu) | 0x800000u : size - (112u << 23u);
  const uint32_t odd = value >> away & 1u;
  return sign | (value + (1u << (away - 1u)) - 1u + odd) >> away;
}

/// Return the f16 with exactly the value of an f32, else -1. NaN keeps its bits.
inline int32_t half_of_float_bits(uint32_t bits) {
  uint32_t half = nearest_half_of_float_bits(bits);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) half &= ~(~bits >> 13u & 0x200u);
  return float_bits_of_half(half) == bits ? static_cast<int32_t>(half) : -1;
}

}  // namespace
}  // namespace rill::kernels
