#include "cli/toml_impl.h"

#include <cctype>
#include <string>
#include <vector>

#include "cli/specs.h"

namespace rill::cli {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;

class Toml {
 public:
  Toml(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<json> run() {
    json root = json::object();
    json* table = &root;
    for (skip_lines(); at_ < text_.size(); skip_lines()) {
      if (take('[')) {
        RILL_ASSIGN(const auto path, keys());
        if (!take(']')) return error("\"]\"");
        table = &root;
        for (const std::string& key : path) {
          json& inner = (*table)[key];
          if (inner.is_null()) inner = json::object();
          if (!inner.is_object()) return error("a table, and " + key + " is a value");
          table = &inner;
        }
      } else {
        RILL_TRY(assignment(table));
      }
      RILL_TRY(end_of_line());
    }
    return root;
  }

 private:
  Status error(const std::string& expected) const {
    int line = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n' ? 1 : 0;
    return fail(Code::kParse, "expected ", expected).at(file_, line);
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    }
  }
  void skip_lines() {
    for (blanks(); at_ < text_.size() && text_[at_] == '\n'; blanks()) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status end_of_line() {
    blanks();
    if (at_ < text_.size() && text_[at_] != '\n') return error("the end of the line");
    return {};
  }
  Result<std::string> key() {
    blanks();
    if (at_ < text_.size() && text_[at_] == '"') return text();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '_' || text_[at_] == '-')) {
      ++at_;
    }
    if (at_ == begin) return error("a key");
    return std::string(text_.substr(begin, at_ - begin));
  }
  Result<std::vector<std::string>> keys() {
    std::vector<std::string> out;
    do {
      RILL_ASSIGN(std::string name, key());
      out.push_back(std::move(name));
    } while (take('.'));
    return out;
  }
  Status assignment(json* table) {
    RILL_ASSIGN(const auto path, keys());
    if (!take('=')) return error("\"=\"");
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      json& inner = (*table)[path[i]];
      if (inner.is_null()) inner = json::object();
      if (!inner.is_object()) return error("a table, and " + path[i] + " is a value");
      table = &inner;
    }
    RILL_ASSIGN((*table)[path.back()], value(0));
    return {};
  }
  Result<std::string> text() {
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out.push_back(text_[at_++]);
    }
    if (at_ >= text_.size() || text_[at_] != quote) return error("a closing quote");
    ++at_;
    return out;
  }
  Result<json> value(int depth) {
    if (depth > kMaxDepth) return error("fewer nested values");
    blanks();
    if (at_ >= text_.size()) return error("a value");
    if (text_[at_] == '"' || text_[at_] == '\'') {
      RILL_ASSIGN(std::string out, text());
      return json(std::move(out));
    }
    if (take('[')) return list(depth);
    if (take('{')) return table(depth);
    const size_t begin = at_;
    while (at_ < text_.size() &&
           std::string_view(",]}#\n \t\r").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    const std::string word(text_.substr(begin, at_ - begin));
    if (word == "true" || word == "false") return json(word == "true");
    const auto number = parse_number(word);
    if (!number.ok()) return error("a value, found \"" + word + "\"");
    if (word.find_first_of(".eE") == std::string::npos) return json(static_cast<int64_t>(*number));
    return json(*number);
  }
  Result<json> list(int depth) {
    json out = json::array();
    for (skip_lines(); !take(']'); skip_lines()) {
      RILL_ASSIGN(json item, value(depth + 1));
      out.push_back(std::move(item));
      skip_lines();
      if (!take(',') && !(at_ < text_.size() && text_[at_] == ']')) return error("\",\" or \"]\"");
    }
    return out;
  }
  Result<json> table(int depth) {
    json out = json::object();
    while (!take('}')) {
      RILL_ASSIGN(const std::string name, key());
      if (!take('=')) return error("\"=\"");
      RILL_ASSIGN(out[name], value(depth + 1));
      if (!take(',') && !(at_ < text_.size() && text_[at_] == '}')) return error("\",\" or \"}\"");
    }
    return out;
  }

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
};

}  // namespace

Result<json> parse_toml(std::string_view text, std::string_view file) {
  return Toml(text, file).run();
}

}  // namespace rill::cli
