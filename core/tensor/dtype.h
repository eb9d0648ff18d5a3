#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/nonblocking.h"

namespace rill {

/// The type of an element. `QParams` holds the scale and the zero point of quantised types.
enum class DType : uint8_t {
  kBool,
  kU8,
  kU16,
  kU32,
  kU64,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kString,
  kDim,  ///< a symbolic integer, tract's TDim; an i64 once the symbols are bound
  kQU8,
  kQI8,
  kQI32,
  kBlob,
};

/// Return the bytes of an element in memory. Strings and dims are objects, not plain bytes.
int64_t dtype_size(DType dtype) RILL_NONBLOCKING;
/// Return the name in tract's dumps: "F32", "TDim".
std::string_view dtype_name(DType dtype) RILL_NONBLOCKING;
/// Return the lower-case name, as in casts: "f32", "tdim".
std::string_view dtype_lower_name(DType dtype) RILL_NONBLOCKING;
/// Parse either name; nothing if no type has it.
std::optional<DType> dtype_from_name(std::string_view name);

inline bool is_float(DType t) {
  return t == DType::kF16 || t == DType::kBF16 || t == DType::kF32 || t == DType::kF64;
}
/// Return whether elements are 16-bit floats, which are computed in f32.
inline bool is_reduced_float(DType t) { return t == DType::kF16 || t == DType::kBF16; }
inline bool is_unsigned_int(DType t) { return t >= DType::kU8 && t <= DType::kU64; }
inline bool is_signed_int(DType t) { return t >= DType::kI8 && t <= DType::kI64; }
inline bool is_int(DType t) { return is_unsigned_int(t) || is_signed_int(t); }
inline bool is_quantised_byte(DType t) { return t == DType::kQU8 || t == DType::kQI8; }
/// Return whether elements are 8-bit integers, quantised or not.
inline bool is_byte(DType t) {
  return t == DType::kU8 || t == DType::kI8 || is_quantised_byte(t);
}
inline bool is_quantised(DType t) {
  return t == DType::kQU8 || t == DType::kQI8 || t == DType::kQI32;
}
/// Return the integer type in which a quantised type is stored; other types return themselves.
/// Stored integers compare like the real numbers.
inline DType stored_type(DType t) {
  switch (t) {
    case DType::kQU8:
      return DType::kU8;
    case DType::kQI8:
      return DType::kI8;
    case DType::kQI32:
      return DType::kI32;
    default:
      return t;
  }
}
/// Return whether elements are plain bytes that may be copied with memcpy.
inline bool is_plain(DType t) { return t != DType::kString && t != DType::kDim; }

/// Round a float to half precision, to nearest, ties to even.
uint16_t f16_from_f32(float value) RILL_NONBLOCKING;
float f32_from_f16(uint16_t bits) RILL_NONBLOCKING;
uint16_t bf16_from_f32(float value) RILL_NONBLOCKING;
float f32_from_bf16(uint16_t bits) RILL_NONBLOCKING;

/// A half-precision number in memory. It converts to float, and has no arithmetic.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(f16_from_f32(value)) {}
  explicit operator float() const { return f32_from_f16(bits); }
};
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(bf16_from_f32(value)) {}
  explicit operator float() const { return f32_from_bf16(bits); }
};

/// The parameters of quantised integers q: real number = (q - zero_point) * scale.
struct QParams {
  int32_t zero_point = 0;
  float scale = 1.0F;
  bool operator==(const QParams&) const = default;
};

}  // namespace rill
