#include "core/base/text.h"

#include <algorithm>
#include <charconv>

#include "core/base/number_text.h"

namespace rill {
namespace {

template <class T>
void append_integer(std::string& out, T value) {
  char buffer[24];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

}  // namespace

void append_text(std::string& out, std::string_view text) { out.append(text); }
void append_text(std::string& out, int64_t value) { append_integer(out, value); }
void append_text(std::string& out, uint64_t value) { append_integer(out, value); }
void append_text(std::string& out, double value) { append_number(out, value); }
void append_text(std::string& out, float value) { append_number(out, value); }

void append_piece(std::string& out, const Counted& value) {
  append_text(out, value.count);
  out.push_back(' ');
  const bool plural = value.count != 1;
  out.append(plural && value.many ? value.many : value.one);
  if (plural && !value.many) out.push_back('s');
}

void append_next(std::string& out, uint64_t* kinds, const AppendPiece** others, va_list* pieces) {
  const auto kind = static_cast<PieceKind>(*kinds & ((1U << kPieceKindBits) - 1));
  *kinds >>= kPieceKindBits;
  if (kind == PieceKind::kSigned) return append_text(out, va_arg(*pieces, int64_t));
  if (kind == PieceKind::kUnsigned) return append_text(out, va_arg(*pieces, uint64_t));
  if (kind == PieceKind::kChars) return append_piece(out, va_arg(*pieces, const char*));
  const void* value = va_arg(*pieces, const void*);
  if (kind == PieceKind::kString) return append_piece(out, *static_cast<const std::string*>(value));
  if (kind == PieceKind::kView) {
    return append_piece(out, *static_cast<const std::string_view*>(value));
  }
  (*(*others)++)(out, value);
}

std::string joined(uint64_t kinds, const AppendPiece* others, ...) {
  std::string out;
  va_list pieces;
  va_start(pieces, others);
  while (kinds != 0) append_next(out, &kinds, &others, &pieces);
  va_end(pieces);
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::string join(std::span<const std::string> texts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(texts[i]);
  }
  return out;
}

}  // namespace rill
