#pragma once

#include <cstdint>

namespace rill::kernels {
namespace {

/// Upcast an f16 given by its bits. Uses only integers, so that it works while denormals are
/// flushed.
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

/// Round an f32 given by its bits to the nearest f16, ties to even.
inline uint32_t nearest_half_of_float_bits(uint32_t bits) {
  const uint32_t sign = bits >> 16u & 0x8000u;
  const uint32_t size = bits & 0x7FFFFFFFu;
  if (size > 0x7F800000u) return sign | 0x7E00u | (size >> 13u & 0x3FFu);
  if (size >= 0x477FF000u) return sign | 0x7C00u;
  if (size < 0x33000000u) return sign;
  // Subnormal f16 count units of 2^-24; others keep 10 bits after the leading one, with a smaller
  // bias.
  const bool small = size < 0x38800000u;
  const uint32_t away = small ? 126u - (size >> 23u) : 13u;
  const uint32_t value = small ? (size & 0x7FFFFFu) | 0x800000u : size - (112u << 23u);
  const uint32_t odd = value >> away & 1u;
  return sign | (value + (1u << (away - 1u)) - 1u + odd) >> away;
}

/// Return the bits of the f16 that equals an f32 exactly; -1 if there is none. NaN keeps its bits.
inline int32_t half_of_float_bits(uint32_t bits) {
  uint32_t half = nearest_half_of_float_bits(bits);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) half &= ~(~bits >> 13u & 0x200u);
  return float_bits_of_half(half) == bits ? static_cast<int32_t>(half) : -1;
}

}  // namespace
}  // namespace rill::kernels
