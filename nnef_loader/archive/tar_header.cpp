#include "nnef_loader/archive/tar_header.h"

#include <algorithm>
#include <limits>

#include "core/base/search.h"

namespace rill::nnef {
namespace {

constexpr uint32_t kBlank = ' ';

bool in_checksum(size_t at) {
  return at >= kTarChecksum.at && at < kTarChecksum.at + kTarChecksum.bytes;
}

std::optional<int64_t> binary_number(std::string_view field) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() >> 8;
  // The first bit marks the binary form, the second is the sign.
  int64_t value = static_cast<unsigned char>(field.front()) & 0x7F;
  if ((value & 0x40) != 0) return std::nullopt;
  for (const char c : field.substr(1)) {
    if (value > kMost) return std::nullopt;
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return value;
}

}  // namespace

uint32_t tar_checksum(std::string_view block) {
  uint32_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    sum += in_checksum(i) ? kBlank : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

bool tar_checksum_fits(std::string_view block) {
  if (block.size() < kTarBlockBytes) return false;
  block = block.substr(0, kTarBlockBytes);
  const std::string_view field = kTarChecksum.of(block);
  // An empty field would be read as zero.
  if (none_of(field, [](char c) { return c >= '0' && c <= '7'; })) {
    return false;
  }
  const std::optional<int64_t> stated = tar_number(field);
  const int64_t sum = tar_checksum(block);
  int64_t over_127 = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    over_127 += !in_checksum(i) && static_cast<unsigned char>(block[i]) > 127 ? 1 : 0;
  }
  return stated && (*stated == sum || *stated == sum - 256 * over_127);
}

std::optional<int64_t> tar_number(std::string_view field) {
  if (field.empty()) return std::nullopt;
  if ((static_cast<unsigned char>(field.front()) & 0x80) != 0) return binary_number(field);
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  int64_t value = 0;  // 12 octal digits take 36 bits
  for (const char c : field) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + (c - '0');
  }
  return value;
}

std::string_view tar_text(std::string_view field) { return field.substr(0, field.find('\0')); }

}  // namespace rill::nnef
