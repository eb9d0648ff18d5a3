#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rill::plan_file {

// The layout of plan files; docs/plan-files.md lists every byte. Numbers are little-endian.
//
//   header        64 bytes
//   targets       64 bytes each
//   records       numbers one after the other, as `Bytes` writes them
//   constants     each aligned to 64 bytes, followed by zeros

inline constexpr std::array<char, 8> kMagic = {'r', 'i', 'l', 'l', 'p', 'l', 'a', 'n'};
inline constexpr uint32_t kVersion = 11;
inline constexpr uint32_t kByteOrder = 0x01020304;
inline constexpr int64_t kAlign = 64;
/// Zeros after each constant: kernels load bytes past the last element, without using them.
inline constexpr int64_t kReadBeyond = 64;

struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t byte_order;
  int64_t bytes;               ///< of the file
  int64_t constants;           ///< offset of the constants
  uint64_t checksum;           ///< checksum of everything from `targets` to the constants
  uint64_t constant_checksum;  ///< of the constants
  uint32_t targets;
  std::array<uint32_t, 3> reserved;
};
static_assert(sizeof(Header) == 64);

/// The location of a record: offset from the start of the file, and size.
struct Place {
  int64_t begin;
  int64_t bytes;
};

struct TargetEntry {
  std::array<char, 16> name;  ///< name of a tier, padded with zeros
  Place plan;
  Place notes;  ///< names of nodes for profiles, and what steps read and write; no bytes if omitted
  Place properties;  ///< properties of the model; no bytes if it has none
};
static_assert(sizeof(TargetEntry) == 64);

inline constexpr size_t kSummedFrom = offsetof(Header, targets);
inline constexpr uint32_t kMostTargets = 64;
/// The maximum number of names of step kinds, of kernels and of operators each; names are searched
/// linearly.
inline constexpr int64_t kMostNames = 1024;

/// Return whether the sizes in a header are valid for a file of `file_bytes` bytes.
constexpr bool adds_up(const Header& header, int64_t file_bytes) {
  const int64_t first = int64_t{sizeof(Header)} + header.targets * int64_t{sizeof(TargetEntry)};
  return header.targets >= 1 && header.targets <= kMostTargets && header.constants % kAlign == 0 &&
         header.constants >= first && header.constants <= file_bytes;
}
/// Return whether the records of a target precede the constants, and its name is terminated.
constexpr bool lies_inside(const TargetEntry& target, const Header& header) {
  const auto inside = [&](const Place& place) {
    return place.begin >= 0 && place.bytes >= 0 && place.begin <= header.constants &&
           place.bytes <= header.constants - place.begin;
  };
  return target.name.back() == '\0' && inside(target.plan) && inside(target.notes) &&
         inside(target.properties);
}

/// The encoding of an expression: operations on a stack of values.
enum class DimCode : uint8_t {
  kEnd,
  kNumber,  ///< followed by the number
  kSymbol,  ///< followed by its name
  kAdd,
  kMultiply,
  kDivide,  ///< rounds down; followed by the divisor
  kMin,
  kMax,
  kBroadcast,
  kAtLeast,
  kEqual,
  kInvalid,
};

}  // namespace rill::plan_file
