#include "core/tensor/dtype.h"

#include <cmath>
#include <cstring>

#include "core/base/bits.h"

namespace rill {
namespace {

// Entries contain their names, because pointers would need relocation at every program start.
struct DTypeInfo {
  DType dtype;
  uint8_t size;
  char name[7];
  char lower[7];
};

constexpr DTypeInfo kInfos[] = {
    {DType::kBool, 1, "Bool", "bool"}, {DType::kU8, 1, "U8", "u8"},
    {DType::kU16, 2, "U16", "u16"},    {DType::kU32, 4, "U32", "u32"},
    {DType::kU64, 8, "U64", "u64"},    {DType::kI8, 1, "I8", "i8"},
    {DType::kI16, 2, "I16", "i16"},    {DType::kI32, 4, "I32", "i32"},
    {DType::kI64, 8, "I64", "i64"},    {DType::kF16, 2, "F16", "f16"},
    {DType::kBF16, 2, "BF16", "bf16"}, {DType::kF32, 4, "F32", "f32"},
    {DType::kF64, 8, "F64", "f64"},    {DType::kString, 32, "String", "string"},
    {DType::kDim, 16, "TDim", "tdim"}, {DType::kQU8, 1, "QU8", "qu8"},
    {DType::kQI8, 1, "QI8", "qi8"},    {DType::kQI32, 4, "QI32", "qi32"},
    {DType::kBlob, 1, "Blob", "blob"},
};

const DTypeInfo& info(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

}  // namespace

int64_t dtype_size(DType dtype) { return info(dtype).size; }
std::string_view dtype_name(DType dtype) { return info(dtype).name; }
std::string_view dtype_lower_name(DType dtype) { return info(dtype).lower; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& entry : kInfos) {
    if (name == entry.name || name == entry.lower) return entry.dtype;
  }
  return std::nullopt;
}

uint16_t f16_from_f32(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    // Below the smallest normal half: adding 0.5 aligns the mantissa, and the addition rounds to
    // even.
    const float shifted = bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  const uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13));
}

float f32_from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return bit_cast<float>(sign | bit_cast<uint32_t>(value));
  }
  return bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

uint16_t bf16_from_f32(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  const uint32_t odd = (bits >> 16) & 1U;
  return static_cast<uint16_t>((bits + 0x7fffU + odd) >> 16);
}

float f32_from_bf16(uint16_t bits) {
  return bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace rill
