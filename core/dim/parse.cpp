#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/base/limits.h"
#include "core/dim/dim.h"

namespace rill {
namespace {

constexpr size_t kMostShown = 200;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Dim> parse() {
    RILL_ASSIGN(Dim dim, broadcast_level(0));
    skip_blanks();
    if (at_ < text_.size()) return error("an operator or the end");
    if (!dim.valid()) {
      return fail(Code::kParse, "the expression \"", text_.substr(0, kMostShown),
                  "\" is out of range");
    }
    return dim;
  }

 private:
  Status error(std::string_view expected) const {
    const std::string found = at_ < text_.size() ? str_cat("\"", text_.substr(at_, 12), "\"")
                                                 : std::string("the end");
    return fail(Code::kParse, "dimension expression \"", text_.substr(0, kMostShown), "\", column ",
                at_ + 1, ": expected ", expected, ", found ", found);
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<Dim> broadcast_level(int depth) {
    if (depth > kMaxDimDepth) return error("fewer nested parentheses");
    RILL_ASSIGN(Dim left, sum_level(depth));
    while (take('#')) {
      RILL_ASSIGN(const Dim right, sum_level(depth));
      left = broadcast(left, right);
    }
    return left;
  }
  Result<Dim> sum_level(int depth) {
    RILL_ASSIGN(Dim left, product_level(depth));
    for (;;) {
      if (take('+')) {
        RILL_ASSIGN(const Dim right, product_level(depth));
        left = left + right;
      } else if (take('-')) {
        RILL_ASSIGN(const Dim right, product_level(depth));
        left = left - right;
      } else {
        return left;
      }
    }
  }
  Result<Dim> product_level(int depth) {
    RILL_ASSIGN(Dim left, quotient_level(depth));
    while (take('*')) {
      RILL_ASSIGN(const Dim right, quotient_level(depth));
      left = left * right;
    }
    return left;
  }
  Result<Dim> quotient_level(int depth) {
    RILL_ASSIGN(Dim left, atom(depth));
    while (take('/')) {
      skip_blanks();
      const size_t begin = at_;
      RILL_ASSIGN(const int64_t divisor, number());
      if (divisor <= 0) {
        at_ = begin;
        return error("a positive divisor");
      }
      left = floor_div(left, divisor);
    }
    return left;
  }
  Result<int64_t> number() {
    if (at_ >= text_.size() || !std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      return error("a number");
    }
    int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        return error("a number that fits 64 bits");
      }
      ++at_;
    }
    return value;
  }
  Result<Dim> atom(int depth) {
    if (depth > kMaxDimDepth) return error("fewer nested operators");
    skip_blanks();
    if (take('-')) {
      RILL_ASSIGN(const Dim inner, atom(depth + 1));
      return -inner;
    }
    if (take('(')) {
      RILL_ASSIGN(const Dim inner, broadcast_level(depth + 1));
      if (!take(')')) return error("\")\"");
      return inner;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      RILL_ASSIGN(const int64_t value, number());
      return Dim(value);
    }
    return name(depth);
  }
  bool name_char(bool first) const {
    if (at_ >= text_.size()) return false;
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (std::isalpha(c) || c == '_') return true;
    if (first) return false;
    if (std::isdigit(c) || c == '.') return true;
    return c == '/' && at_ + 1 < text_.size() &&
           std::isalpha(static_cast<unsigned char>(text_[at_ + 1]));
  }
  Result<Dim> name(int depth) {
    const size_t start = at_;
    if (!name_char(true)) return error("a number, a symbol or \"(\"");
    while (name_char(at_ == start)) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    using Combine = Dim (*)(const Dim&, const Dim&);
    static constexpr std::pair<std::string_view, Combine> kFunctions[] = {
        {"min", min}, {"max", max}, {"broadcast", broadcast}, {"floor", nullptr},
        {"ge", ge},   {"eq", eq}};
    const auto function =
        std::find_if(std::begin(kFunctions), std::end(kFunctions),
                     [&](const auto& known) { return known.first == word; });
    if (function == std::end(kFunctions) || !take('(')) return Dim::symbol(word);
    RILL_ASSIGN(Dim left, broadcast_level(depth + 1));
    while (function->second && take(',')) {
      RILL_ASSIGN(const Dim right, broadcast_level(depth + 1));
      left = function->second(left, right);
    }
    if (!take(')')) return error("\",\" or \")\"");
    return left;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<Dim> parse_dim(std::string_view text) {
  if (text.size() > kMostDimText) {
    return fail(Code::kParse, "dimension expression of ", text.size(), " characters: at most ",
                kMostDimText);
  }
  RILL_ASSIGN(Dim dim, Parser(text).parse());
  // A chain of `#` prints as nested calls; refuse it if the parser could not read these back.
  if (!dim.is_const() && !Parser(dim.to_string()).parse().ok()) {
    return fail(Code::kParse, "dimension expression \"", text.substr(0, kMostShown),
                "\": expected at most ", kMaxDimDepth, " nested operators");
  }
  return dim;
}

}  // namespace rill
