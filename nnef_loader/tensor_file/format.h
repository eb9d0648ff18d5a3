#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rill::nnef {

// Fields are copied from the file without conversion; the file is little endian.
static_assert(std::endian::native == std::endian::little);

/// The head of a `.dat` file. Source: docs/nnef-dialect.md, tensor files.
struct TensorHeader {
  uint8_t magic[2] = {0x4E, 0xEF};
  uint8_t version_major = 1;
  uint8_t version_minor = 0;
  uint32_t payload_bytes = 0;
  uint32_t rank = 0;
  uint32_t extents[8] = {};
  uint32_t bits_per_item = 0;
  uint16_t item_type = 0;
  uint16_t vendor = 0;
  uint8_t parameters[32] = {};
  uint8_t padding[44] = {};
};
static_assert(sizeof(TensorHeader) == 128);

inline constexpr uint16_t kKhronos = 0;
inline constexpr uint16_t kTract = 0x5452;
inline constexpr uint32_t kNoBits = 0xFFFFFFFFU;

enum KhronosType : uint16_t {
  kFloat = 0,
  kUnsigned = 1,
  kQuantisedUnsigned = 2,
  kQuantisedSigned = 3,
  kSigned = 4,
  kBoolean = 5,
};

enum TractType : uint16_t {
  kComplexFloat = 0,
  kComplexInteger = 4,
  kStrings = 0x1000,
  kQ40Interleaved = 0x2040,
  kBlockQuantised = 0x2000,  ///< the bit that all block-quantised types have
  kQ40 = 0x3040,
  kQ81 = 0x3080,
  kQ81AsTractWrites = 0x3081,
};

}  // namespace rill::nnef
