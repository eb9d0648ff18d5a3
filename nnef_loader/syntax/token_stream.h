#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "nnef_loader/syntax/lexer.h"

namespace rill::nnef {

/// Reads tokens, with look-ahead. An invalid token appears as the end of the text; `unexpected` and
/// `expect_end` return its error.
class TokenStream {
 public:
  TokenStream(std::string_view text, std::string_view file) : lexer_(text, file) {
    ahead_.reserve(kMostAhead + 1);
  }

  static constexpr size_t kMostAhead = 4;
  /// Return a token without taking it; valid until the next token is taken.
  const Token& peek(size_t ahead = 0);
  Token take();
  void skip();
  bool at_end() { return peek().kind == Token::Kind::kEnd; }

  /// Consume the token if it is that symbol or plain name.
  bool accept(std::string_view symbol);
  bool accept(const char* symbol);
  bool accept_word(std::string_view word);
  Status expect(std::string_view symbol, std::string_view where);
  Status expect(const char* symbol, const char* where);
  /// As `expect(">")`; also consumes the first half of `>=`, as in `x: tensor<scalar>=1.0`.
  Status expect_closing_angle(std::string_view where);
  Status expect_word(std::string_view word);
  Result<std::string> expect_name(std::string_view what);
  Status expect_end(std::string_view after);
  /// Return the raw text up to the next `;`. Do not peek before this call.
  Result<std::string_view> raw_until_semicolon() { return lexer_.raw_until_semicolon(); }

  /// Fail at the next token: "expected X, found Y".
  Status unexpected(std::string_view expected);
  Status error_at(Place place, std::string_view message) const {
    return lexer_.error_at(place, message);
  }

 private:
  void drop() { ahead_.erase(ahead_.begin()); }

  Lexer lexer_;
  std::vector<Token> ahead_;
  Status failure_;
};

/// Counts a level of nesting during its lifetime.
class Nesting {
 public:
  explicit Nesting(int* depth) : depth_(depth) { ++*depth_; }
  ~Nesting() { --*depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int* depth_;
};

}  // namespace rill::nnef
