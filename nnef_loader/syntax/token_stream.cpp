#include "nnef_loader/syntax/token_stream.h"

namespace rill::nnef {

const Token& TokenStream::peek(size_t ahead) {
  RILL_ASSERT(ahead <= kMostAhead);
  while (ahead_.size() <= ahead) {
    Token token;
    if (failure_.ok()) {
      Result<Token> read = lexer_.next();
      if (read.ok()) {
        token = std::move(*read);
      } else {
        failure_ = read.take_status();
      }
    }
    token.place = token.place.line > 0 ? token.place : lexer_.place();
    ahead_.push_back(std::move(token));
  }
  return ahead_[ahead];
}

void TokenStream::skip() {
  peek();
  drop();
}

Token TokenStream::take() {
  peek();
  Token token = std::move(ahead_.front());
  drop();
  return token;
}

bool TokenStream::accept(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  drop();
  return true;
}

bool TokenStream::accept_word(std::string_view word) {
  if (!peek().is_word(word)) return false;
  drop();
  return true;
}

Status TokenStream::expect(std::string_view symbol, std::string_view where) {
  if (accept(symbol)) return {};
  return unexpected(str_cat("`", symbol, "` ", where));
}

bool TokenStream::accept(const char* symbol) { return accept(std::string_view(symbol)); }

Status TokenStream::expect(const char* symbol, const char* where) {
  return expect(std::string_view(symbol), std::string_view(where));
}

Status TokenStream::expect_closing_angle(std::string_view where) {
  if (peek().is(">=")) {
    lexer_.split(peek(), 1);
    ahead_.clear();
    failure_ = {};
    return {};
  }
  return expect(">", where);
}

Status TokenStream::expect_word(std::string_view word) {
  if (accept_word(word)) return {};
  return unexpected(str_cat("`", word, "`"));
}

Result<std::string> TokenStream::expect_name(std::string_view what) {
  if (peek().kind != Token::Kind::kName) return unexpected(what);
  return take().value;
}

Status TokenStream::expect_end(std::string_view after) {
  if (at_end() && failure_.ok()) return {};
  return unexpected(str_cat("the end of the text after ", after));
}

Status TokenStream::unexpected(std::string_view expected) {
  const Token& found = peek();
  if (found.kind == Token::Kind::kEnd && !failure_.ok()) return failure_;
  return error_at(found.place, str_cat("expected ", expected, ", found ", token_text(found)));
}

}  // namespace rill::nnef
