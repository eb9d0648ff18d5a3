#include "nnef_loader/archive/gzip_trailer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace rill::nnef {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320U;
constexpr int64_t kHeaderBytes = 10;
constexpr int64_t kTrailerBytes = 8;
constexpr int64_t kSmallestMember = kHeaderBytes + 2 + kTrailerBytes;

using Tables = std::array<std::array<uint32_t, 256>, 16>;

/// Table k advances the checksum of a byte over k more zero bytes.
Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

/// Computed at first use: constant tables would be larger than all code of this folder.
const Tables& crc_tables() {
  static const Tables kTables = make_tables();
  return kTables;
}

uint32_t byte_at(std::span<const std::byte> bytes, size_t i) {
  return std::to_integer<uint32_t>(bytes[i]);
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the tables are for little-endian words");

uint32_t word_at(std::span<const std::byte> bytes, size_t i) {
  uint32_t word = 0;
  std::memcpy(&word, &bytes[i], sizeof word);
  return word;
}

/// Return whether a member may start there: magic, deflate, no reserved flag, a known extra-flags
/// byte and a known system.
bool may_start_member(std::span<const std::byte> b, size_t i) {
  if (byte_at(b, i) != 0x1F || byte_at(b, i + 1) != 0x8B || byte_at(b, i + 2) != 8) return false;
  const uint32_t extra = byte_at(b, i + 8);
  const uint32_t system = byte_at(b, i + 9);
  return byte_at(b, i + 3) < 0x20 && (extra == 0 || extra == 2 || extra == 4) &&
         (system <= 13 || system == 255);
}

/// Return whether a second member may start somewhere in the file.
Result<bool> may_have_more_members(const Source& source) {
  std::vector<std::byte> chunk(size_t{1} << 18);
  const int64_t step = static_cast<int64_t>(chunk.size()) - kHeaderBytes;
  for (int64_t at = kSmallestMember; at < source.size(); at += step) {
    RILL_ASSIGN(const size_t got, source.read_at(at, chunk));
    const std::span<const std::byte> bytes(chunk.data(), got);
    for (size_t i = 0; i + kHeaderBytes <= got; ++i) {
      if (may_start_member(bytes, i)) return true;
    }
  }
  return false;
}

}  // namespace

void Crc32::update(std::span<const std::byte> bytes) {
  const Tables& table = crc_tables();
  uint32_t state = state_;
  size_t i = 0;
  // Return the checksum of the word at `offset` of 16 bytes, advanced over the bytes after it.
  const auto advanced = [&table](uint32_t word, size_t offset) {
    const size_t last = table.size() - 1 - offset;
    return table[last][word & 0xFFU] ^ table[last - 1][word >> 8 & 0xFFU] ^
           table[last - 2][word >> 16 & 0xFFU] ^ table[last - 3][word >> 24];
  };
  for (; i + table.size() <= bytes.size(); i += table.size()) {
    state = advanced(state ^ word_at(bytes, i), 0) ^ advanced(word_at(bytes, i + 4), 4) ^
            advanced(word_at(bytes, i + 8), 8) ^ advanced(word_at(bytes, i + 12), 12);
  }
  for (; i < bytes.size(); ++i) {
    state = (state >> 8) ^ table[0][(state ^ byte_at(bytes, i)) & 0xFFU];
  }
  state_ = state;
}

Status check_gzip_trailer(const Source& source, const Crc32& crc, uint64_t unfolded_bytes) {
  // Zeros after the trailer are padding, as on tapes; a trailer itself may end in zeros.
  std::vector<std::byte> tail(size_t{64} << 10);
  const int64_t from = std::max<int64_t>(0, source.size() - static_cast<int64_t>(tail.size()));
  RILL_ASSIGN(const size_t got, source.read_at(from, tail));
  const auto size_field = static_cast<uint32_t>(unfolded_bytes);
  for (size_t end = got; end >= kTrailerBytes; --end) {
    if (word_at(tail, end - 8) == crc.value() && word_at(tail, end - 4) == size_field) return {};
    if (tail[end - 1] != std::byte{0}) break;
  }
  RILL_ASSIGN(const bool more, may_have_more_members(source));
  if (more) return {};
  return fail(Code::kParse, "gzip data is damaged: its checksum or length does not fit")
      .at(source.name(), 0);
}

}  // namespace rill::nnef
