#include "nnef_loader/syntax/lexer.h"

#include <algorithm>
#include <array>

#include "core/base/search.h"
#include "core/base/utf8.h"

namespace rill::nnef {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::array<std::string_view, 7> kLongSymbols = {"->", "<=", ">=", "==", "!=", "&&", "||"};
constexpr std::string_view kShortSymbols = "()[]{}<>,;:=?+-*/^!";

/// Return a piece of the source for a message: short and printable.
std::string shown(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out;
  for (size_t i = 0; i < text.size() && i < kMost; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    out.push_back(c < 0x20 || c == 0x7F ? '?' : text[i]);
  }
  // The cut may have split a UTF-8 sequence.
  const size_t bad = find_bad_utf8(out);
  if (bad != std::string_view::npos) out.resize(bad);
  return text.size() > kMost ? out + "..." : out;
}

}  // namespace

std::string token_text(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the text";
  if (token.kind == Token::Kind::kString) return str_cat("the string ", shown(token.text));
  return str_cat("`", shown(token.text), "`");
}

Lexer::Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

Status Lexer::error_at(Place place, std::string_view message) const {
  return fail(Code::kParse, message).at(file_, place.line, place.column);
}

void Lexer::advance() {
  const auto c = static_cast<unsigned char>(text_[at_++]);
  if (c == '\n') {
    ++line_;
    column_ = 1;
  } else if ((c & 0xC0) != 0x80) {
    ++column_;
  }
}

void Lexer::skip_blanks() {
  while (!done()) {
    if (is_blank(peek())) {
      advance();
    } else if (peek() == '#') {
      while (!done() && peek() != '\n') advance();
    } else {
      return;
    }
  }
}

void Lexer::read_number() {
  while (is_digit(peek())) advance();
  if (peek() == '.') {
    advance();
    while (is_digit(peek())) advance();
  }
  if (peek() == 'e' || peek() == 'E') {
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (!is_digit(peek(1 + sign))) return;
    for (size_t i = 0; i < 1 + sign; ++i) advance();
    while (is_digit(peek())) advance();
  }
}

Status Lexer::read_string(std::string* value) {
  const Place start = place();
  const char quote = peek();
  advance();
  while (!done() && peek() != quote) {
    if (peek() == '\\') {
      advance();
      if (done()) break;
    }
    value->push_back(peek());
    advance();
  }
  if (done()) return error_at(start, str_cat("string without its closing ", quote));
  advance();
  return {};
}

Result<Token> Lexer::next() {
  skip_blanks();
  Token token;
  token.place = place();
  token.begin = token.end = at_;
  if (done()) return token;
  const char c = peek();
  if (c == '"' || c == '\'' || (c == 'i' && (peek(1) == '"' || peek(1) == '\''))) {
    token.extended = c == 'i';
    token.kind = token.extended ? Token::Kind::kName : Token::Kind::kString;
    if (token.extended) advance();
    RILL_TRY(read_string(&token.value));
    if (token.extended && token.value.empty()) return error_at(token.place, "an empty name");
  } else if (is_name_start(c)) {
    token.kind = Token::Kind::kName;
    while (is_name_part(peek())) advance();
    token.value = text_.substr(token.begin, at_ - token.begin);
  } else if (is_digit(c)) {
    token.kind = Token::Kind::kNumber;
    read_number();
  } else {
    token.kind = Token::Kind::kSymbol;
    const auto* const symbol = find(kLongSymbols, text_.substr(at_, 2));
    if (symbol == kLongSymbols.end() && kShortSymbols.find(c) == std::string_view::npos) {
      const size_t length = std::max<size_t>(1, utf8_length(text_.substr(at_)));
      return error_at(token.place,
                      str_cat("unexpected character `", shown(text_.substr(at_, length)), "`"));
    }
    advance();
    if (symbol != kLongSymbols.end()) advance();
  }
  token.end = at_;
  token.text = text_.substr(token.begin, token.end - token.begin);
  return token;
}

Result<std::string_view> Lexer::raw_until_semicolon() {
  const Place start = place();
  const size_t begin = at_;
  while (!done() && peek() != ';') advance();
  if (done()) return error_at(start, "expected `;` at the end of the extension, found none");
  return text_.substr(begin, at_ - begin);
}

void Lexer::split(const Token& token, size_t length) {
  // Only symbols are split: they hold no line break and are one column per byte.
  at_ = token.begin + length;
  line_ = token.place.line;
  column_ = token.place.column + static_cast<int>(length);
}

}  // namespace rill::nnef
