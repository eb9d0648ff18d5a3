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

void append_chars(std::string& out, const void* value) {
  out.append(static_cast<const char*>(value));
}

void append_piece(std::string& out, const Counted& value) {
  append_text(out, value.count);
  out.push_back(' ');
  const bool plural = value.count != 1;
  out.append(plural && value.many ? value.many : value.one);
  if (plural && !value.many) out.push_back('s');
}

std::string joined(const TextPiece* pieces, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) pieces[i].append(out, pieces[i].value);
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
