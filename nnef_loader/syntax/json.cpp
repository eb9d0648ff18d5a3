#include "nnef_loader/syntax/json.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/number_text.h"

namespace rill::nnef {
namespace {

constexpr int kMaxDepth = 64;

/// Appends a character in UTF-8.
void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// Reads values, one level of arrays and objects after the other.
class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<Json> whole() {
    RILL_ASSIGN(Json value, read(0));
    skip();
    if (at_ != text_.size()) return wrong("expected the end");
    return value;
  }

 private:
  Status wrong(std::string_view what) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    return fail(Code::kParse, what).at(file_, static_cast<int>(line));
  }
  void skip() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Result<Json> read(int depth) {
    if (depth > kMaxDepth) return wrong("nested too deep");
    skip();
    if (at_ == text_.size()) return wrong("expected a value, found the end");
    if (take("null")) return Json{};
    if (take("true")) return Json{true};
    if (take("false")) return Json{false};
    if (text_[at_] == '"') {
      RILL_ASSIGN(std::string text, string());
      return Json{std::move(text)};
    }
    if (take("[")) return array(depth);
    if (take("{")) return object(depth);
    return number();
  }

  Result<Json> array(int depth) {
    Json::Array out;
    if (take("]")) return Json{std::move(out)};
    do {
      RILL_ASSIGN(Json item, read(depth + 1));
      out.push_back(std::move(item));
    } while (take(","));
    if (!take("]")) return wrong("expected , or ]");
    return Json{std::move(out)};
  }

  Result<Json> object(int depth) {
    Json::Object out;
    if (take("}")) return Json{std::move(out)};
    do {
      skip();
      RILL_ASSIGN(std::string key, string());
      if (!take(":")) return wrong("expected :");
      RILL_ASSIGN(Json item, read(depth + 1));
      out.push_back({std::move(key), std::move(item)});
    } while (take(","));
    if (!take("}")) return wrong("expected , or }");
    return Json{std::move(out)};
  }

  Result<Json> number() {
    const size_t end = std::min(text_.find_first_not_of("+-0123456789.eE", at_), text_.size());
    const std::string_view digits = text_.substr(at_, end - at_);
    int64_t whole = 0;
    const char* last = digits.data() + digits.size();
    if (const auto read = std::from_chars(digits.data(), last, whole);
        read.ec == std::errc{} && read.ptr == last) {
      at_ = end;
      return Json{whole};
    }
    double real = 0;
    const size_t length = read_number(digits, &real);
    if (length == 0 || length != digits.size() || std::isinf(real))
      return wrong("expected a value");
    at_ = end;
    return Json{real};
  }

  Result<uint32_t> code_unit() {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || read.ptr != digits.data() + 4)
      return wrong("expected four hex digits");
    at_ += 4;
    return code;
  }

  Status escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    if (at_ == text_.size()) return wrong("expected the end of a string");
    const char name = text_[at_++];
    if (const size_t known = kNames.find(name); known != std::string_view::npos) {
      out += kValues[known];
      return {};
    }
    if (name != 'u') return wrong("unknown escape in a string");
    RILL_ASSIGN(uint32_t code, code_unit());
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      RILL_ASSIGN(const uint32_t low, code_unit());
      if (low < 0xDC00 || low >= 0xE000) return wrong("half a character in a string");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code >= 0xD800 && code < 0xE000) return wrong("half a character in a string");
    append_utf8(out, code);
    return {};
  }

  Result<std::string> string() {
    if (!take("\"")) return wrong("expected a string");
    std::string out;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) return wrong("a control character in a string");
      if (c != '\\') {
        out += c;
        continue;
      }
      RILL_TRY(escape(out));
    }
    return wrong("expected the end of a string");
  }

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
};

bool in_key(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-_+=").find(c) != std::string_view::npos;
}

const Json* field(const Json* of, std::string_view key) {
  const auto* object = of ? of->get<Json::Object>() : nullptr;
  if (!object) return nullptr;
  for (auto it = object->rbegin(); it != object->rend(); ++it) {
    if (it->key == key) return &it->value;
  }
  return nullptr;
}

const Json* element(const Json* of, uint64_t index) {
  const auto* array = of ? of->get<Json::Array>() : nullptr;
  return array && index < array->size() ? &(*array)[index] : nullptr;
}

}  // namespace

Result<const Json*> Json::at(std::string_view path) const {
  const auto malformed = [&] {
    return fail(Code::kArg, "path \"", path, "\": expected one such as $.layers[0].size");
  };
  if (path.empty() || path.front() != '$') return malformed();
  const Json* found = this;
  size_t at = 1;
  while (at < path.size()) {
    if (path[at] == '[') {
      uint64_t index = 0;
      const auto read = std::from_chars(path.data() + at + 1, path.data() + path.size(), index);
      const auto end = static_cast<size_t>(read.ptr - path.data());
      if (read.ec != std::errc{} || end >= path.size() || path[end] != ']') return malformed();
      found = element(found, index);
      at = end + 1;
      continue;
    }
    size_t end = at + 1;
    while (end < path.size() && in_key(path[end])) ++end;
    if (path[at] != '.' || end == at + 1) return malformed();
    found = field(found, path.substr(at + 1, end - at - 1));
    at = end;
  }
  return found;
}

Result<Json> parse_json(std::string_view text, std::string_view file) {
  return Reader(text, file).whole();
}

}  // namespace rill::nnef
