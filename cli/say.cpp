#include "cli/say_impl.h"

#include <algorithm>

#include "core/base/utf8.h"

namespace rill::cli {

void put(std::FILE* stream, Escaped text) {
  std::fwrite(text.text.data(), 1, text.text.size(), stream);
}

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string safe_json(std::string_view json, JsonPlace place) {
  std::string out;
  while (!json.empty()) {
    const char c = json[0];
    const bool markup = place == JsonPlace::kScript && (c == '<' || c == '>' || c == '&');
    if (markup || c == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      json.remove_prefix(1);
      continue;
    }
    // JSON has line ends between values; strings have theirs escaped.
    const size_t bytes = std::max<size_t>(utf8_length(json), 1);
    out += bytes == 1 ? std::string(1, c) : printable(json.substr(0, bytes));
    json.remove_prefix(bytes);
  }
  return out;
}

std::string shown_nnef(std::string_view text) {
  std::string out;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (quote != '\0' && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    out += quote != '\0' && c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return printable(out, Lines::kKept);
}

}  // namespace rill::cli
