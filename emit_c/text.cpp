#include "emit_c/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "core/base/printable.h"
#include "core/base/utf8.h"

namespace rill::emit_c {
namespace {

constexpr size_t kLongestName = 48;
constexpr char kAt = '\x01';  ///< a '@' of a comment

// Keywords of C11 and C++20, and macros of the headers that emitted files include.
constexpr std::string_view kKeywords[] = {
    "NAN",       "NULL",      "alignas",       "alignof",      "and",       "and_eq",
    "asm",       "auto",      "bitand",        "bitor",        "bool",      "break",
    "case",      "catch",     "char",          "char8_t",      "class",     "co_await",
    "co_return", "co_yield",  "compl",         "concept",      "const",     "const_cast",
    "consteval", "constexpr", "constinit",     "continue",     "decltype",  "default",
    "delete",    "do",        "double",        "dynamic_cast", "else",      "enum",
    "errno",     "explicit",  "export",        "extern",       "false",     "float",
    "for",       "friend",    "goto",          "if",           "inline",    "int",
    "linux",     "long",      "main",          "mutable",      "namespace", "new",
    "noexcept",  "not",       "not_eq",        "nullptr",      "operator",  "or",
    "or_eq",     "private",   "protected",     "public",       "register",  "reinterpret_cast",
    "requires",  "restrict",  "return",        "short",        "signed",    "sizeof",
    "state",     "static",    "static_assert", "static_cast",  "struct",    "switch",
    "template",  "this",      "thread_local",  "throw",        "true",      "try",
    "typedef",   "typeid",    "typename",      "typeof",       "union",     "unix",
    "unsigned",  "using",     "virtual",       "void",         "volatile",  "wchar_t",
    "while",     "xor",       "xor_eq"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string c_float(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  std::string out = text;
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out + "f";
}

std::string identifier(std::string_view text, std::string_view fallback) {
  std::string out;
  for (const char c : text) {
    const bool fits = is_letter(c) || is_digit(c);
    // Two underscores, or one before a capital at the start, are reserved.
    if (fits) out.push_back(c);
    if (!fits && !out.empty() && out.back() != '_') out.push_back('_');
    if (out.size() == kLongestName) break;
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty()) return std::string(fallback);
  if (is_digit(out[0])) out.insert(0, "n");
  const bool taken =
      std::binary_search(std::begin(kKeywords), std::end(kKeywords), std::string_view(out));
  return taken ? out + "_" : out;
}

std::string comment_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\';
    const char last = out.empty() ? ' ' : out.back();
    if (plain && ((last == '*' && c == '/') || (last == '/' && (c == '*' || c == '/')) ||
                  (last == '?' && c == '?'))) {
      out.push_back(' ');
    }
    // `with_prefix` turns this mark back into '@'.
    out.push_back(!plain ? (last == '?' ? '.' : '?') : c == '@' ? kAt : c);
  }
  return out;
}

std::string with_prefix(std::string_view text, std::string_view prefix) {
  std::string out;
  for (const char c : text) {
    if (c == '@') {
      out += prefix;
    } else {
      out.push_back(c == kAt ? '@' : c);
    }
  }
  return out;
}

}  // namespace rill::emit_c
