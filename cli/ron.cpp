#include "cli/ron_impl.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/specs.h"

namespace rill::cli {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;

/// Reads the part of the notation that transforms use: strings, numbers, lists, maps, options.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<TransformSpec> call() {
    TransformSpec out;
    out.name = word();
    std::replace(out.name.begin(), out.name.end(), '-', '_');
    if (out.name.empty()) return error("a name");
    if (take('(')) {
      RILL_TRY(fields(&out.fields));
    }
    blanks();
    if (at_ < text_.size()) return error("the end");
    return out;
  }

 private:
  Status error(std::string_view expected) const {
    const std::string found =
        at_ < text_.size() ? str_cat("\"", text_.substr(at_, 12), "\"") : std::string("the end");
    return fail(Code::kArg, "--transform \"", text_, "\", column ", at_ + 1, ": expected ",
                expected, ", found ", found);
  }
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '_' || text_[at_] == '-')) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  Status fields(json* out) {
    while (!take(')')) {
      const std::string key = word();
      if (key.empty() || !take(':')) return error("field: value");
      RILL_ASSIGN((*out)[key], value(0));
      if (!take(',') && !(at_ < text_.size() && text_[at_] == ')')) return error("\",\" or \")\"");
    }
    return {};
  }

  Result<json> value(int depth) {
    if (depth > kMaxDepth) return error("fewer nested lists");
    blanks();
    if (at_ >= text_.size()) return error("a value");
    if (text_[at_] == '"') return string();
    if (take('[')) return list(depth);
    if (take('{')) return map(depth);
    const std::string name = number_or_word();
    if (name == "Some") {
      if (!take('(')) return error("\"(\"");
      RILL_ASSIGN(json inner, value(depth + 1));
      if (!take(')')) return error("\")\"");
      return inner;
    }
    if (name == "None") return json();
    if (name == "true" || name == "false") return json(name == "true");
    const auto number = parse_number(name);
    if (!number.ok()) return error("a value");
    if (name.find_first_of(".eE") == std::string::npos) return json(static_cast<int64_t>(*number));
    return json(*number);
  }

  std::string number_or_word() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           std::string_view(",:()[]{} \t").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<json> string() {
    ++at_;
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out.push_back(text_[at_++]);
    }
    if (!take('"')) return error("a closing quote");
    return json(out);
  }

  Result<json> list(int depth) {
    json out = json::array();
    while (!take(']')) {
      RILL_ASSIGN(json item, value(depth + 1));
      out.push_back(std::move(item));
      if (!take(',') && !(at_ < text_.size() && text_[at_] == ']')) return error("\",\" or \"]\"");
    }
    return out;
  }

  Result<json> map(int depth) {
    json out = json::object();
    while (!take('}')) {
      RILL_ASSIGN(const json key, value(depth + 1));
      if (!key.is_string() || !take(':')) return error("\"key\": value");
      RILL_ASSIGN(out[key.get<std::string>()], value(depth + 1));
      if (!take(',') && !(at_ < text_.size() && text_[at_] == '}')) return error("\",\" or \"}\"");
    }
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<TransformSpec> parse_transform(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('{')) return Reader(text).call();
  TransformSpec out;
  out.fields = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!out.fields.is_object() || !out.fields.contains("name") || !out.fields["name"].is_string()) {
    return fail(Code::kArg, "--transform ", text, ": expected a JSON object with a name");
  }
  out.name = out.fields["name"].get<std::string>();
  std::replace(out.name.begin(), out.name.end(), '-', '_');
  out.fields.erase("name");
  return out;
}

}  // namespace rill::cli
