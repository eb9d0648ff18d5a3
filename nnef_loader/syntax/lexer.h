#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "nnef_loader/syntax/ast.h"

namespace rill::nnef {

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kName,    ///< plain or `i"..."`; `value` is the name
    kNumber,  ///< without sign
    kString,  ///< `value` has its escapes resolved
    kSymbol,  ///< `text` is one of the symbols, the longest that fits
  };
  Kind kind = Kind::kEnd;
  std::string_view text;  ///< as written; views the source
  std::string value;
  bool extended = false;  ///< a name written as `i"..."`: never a keyword, never a literal
  Place place;
  size_t begin = 0;
  size_t end = 0;

  bool is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool is_word(std::string_view word) const {
    return kind == Kind::kName && !extended && text == word;
  }
};

/// Describe a token for "found ...": `"x"`, `end of text`.
std::string token_text(const Token& token);

/// Splits a text into tokens, one at a time. Blanks and `#` comments separate them.
class Lexer {
 public:
  /// `text` and `file` must outlive the lexer.
  Lexer(std::string_view text, std::string_view file);

  /// Read the next token. Errors: kParse with its place.
  Result<Token> next();
  /// Return the raw text up to a `;`, which `next` returns. Errors: kParse if there is none.
  Result<std::string_view> raw_until_semicolon();
  /// Move back into the last token, after its first `length` bytes.
  void split(const Token& token, size_t length);

  Status error_at(Place place, std::string_view message) const;
  Place place() const { return {line_, column_}; }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool done() const { return at_ >= text_.size(); }
  void advance();
  void skip_blanks();
  void read_number();
  Status read_string(std::string* value);

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace rill::nnef
