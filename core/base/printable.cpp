#include "core/base/printable.h"

#include <cstdint>

// Kept small, because the smallest programs that run plans contain this code.
namespace rill {
namespace {

/// A UTF-8 character of up to four bytes. `code` is not used for four bytes.
struct Character {
  uint32_t code = 0;
  uint32_t bytes = 0;  ///< 0 if the character is malformed
};

/// Source: Unicode 16, table 3-7.
Character first_of(const char* text, size_t size) noexcept {
  const auto* byte = reinterpret_cast<const unsigned char*>(text);
  const uint32_t lead = byte[0];
  if (lead < 0x80) return {lead, 1};
  const uint32_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead - 0xC2 > 0xF4 - 0xC2 || size < bytes) return {lead, 0};
  uint32_t code = lead & 0x1FU;
  for (uint32_t i = 1; i < bytes; ++i) {
    if ((byte[i] & 0xC0U) != 0x80) return {lead, 0};
    code = code << 6 | (byte[i] & 0x3FU);
  }
  code &= 0xFFFFU;
  // Overlong encodings, surrogates and numbers above U+10FFFF are invalid.
  const bool invalid = bytes == 3 ? code < 0x800 || (code & 0xF800U) == 0xD800
                       : bytes == 4
                           ? (lead == 0xF0 && byte[1] < 0x90) || (lead == 0xF4 && byte[1] > 0x8F)
                           : false;
  return {invalid ? lead : code, invalid ? 0 : bytes};
}

/// Return whether a terminal may interpret or hide a character: ASCII and Latin-1 control
/// characters, bidirectional marks, line separators and the byte order mark.
bool is_obeyed(Character character) noexcept {
  const uint32_t code = character.code;
  if (character.bytes < 3) return code < 0x20 || code - 0x7F < 0x21 || code == 0x61C;
  return character.bytes == 3 &&
         ((code & ~1U) == 0x200E || code - 0x2028 < 7 || code - 0x2066 < 4 || code == 0xFEFF);
}

}  // namespace

size_t write_printable(char* to, size_t room, std::string_view text, Lines lines) noexcept {
  size_t size = 0;
  for (size_t at = 0; at < text.size();) {
    const Character found = first_of(text.data() + at, text.size() - at);
    char escape[6] = {'\\', 'n'};
    const char* from = escape;
    uint32_t count = 2;
    if (found.bytes > 0 && (!is_obeyed(found) || (lines == Lines::kKept && found.code == '\n'))) {
      from = text.data() + at;
      count = found.bytes;
    } else if (found.code != '\n') {
      count = found.bytes < 2 ? 4 : 6;
      escape[1] = found.bytes < 2 ? 'x' : 'u';
      uint32_t rest = found.code;
      for (uint32_t i = count; i-- > 2; rest >>= 4) escape[i] = "0123456789abcdef"[rest & 0xFU];
    }
    if (count > room - size) break;
    for (uint32_t i = 0; i < count; ++i) to[size++] = from[i];
    at += found.bytes == 0 ? 1 : found.bytes;
  }
  return size;
}

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.append(4 * text.size(), '\0');  // the longest escape has 4 characters per byte
  out.erase(write_printable(&out[0], out.size(), text, lines));
  return out;
}

}  // namespace rill
