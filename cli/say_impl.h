#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/printable.h"

// All output of the programs goes through these functions, which escape control characters in
// names, symbols and texts of a file. The lint tests/lint/terminal.py enforces this.
namespace rill::cli {

/// Text from `escaped_format`, with several lines or colours, which is printed unchanged.
struct Escaped {
  std::string_view text;
};

/// A piece of output: text is escaped, other values stay.
template <class T>
decltype(auto) shown(const T& piece) {
  if constexpr (std::is_same_v<T, Escaped>) {
    return (piece.text);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return printable(piece);
  } else {
    return (piece);
  }
}

template <class T>
using ShownAs = std::remove_cvref_t<decltype(shown(std::declval<const T&>()))>;

/// Format like fmt, with every text argument escaped.
template <class... Pieces>
std::string escaped_format(fmt::format_string<ShownAs<Pieces>...> form, const Pieces&... pieces) {
  const auto format = [&](auto&&... ready) {
    return fmt::vformat(form, fmt::make_format_args(ready...));
  };
  return format(shown(pieces)...);
}

/// Write text that is escaped already.
void put(std::FILE* stream, Escaped text);

/// Print to standard output, or to a stream.
template <class... Pieces>
void say(fmt::format_string<ShownAs<Pieces>...> form, const Pieces&... pieces) {
  put(stdout, {escaped_format<Pieces...>(form, pieces...)});
}
template <class... Pieces>
void say_to(std::FILE* stream, fmt::format_string<ShownAs<Pieces>...> form,
            const Pieces&... pieces) {
  put(stream, {escaped_format<Pieces...>(form, pieces...)});
}

/// Text for an element or an attribute of HTML or SVG.
std::string markup_text(std::string_view text);

/// Where JSON goes: to the output, or into a script of a page.
enum class JsonPlace { kOutput, kScript };

/// Return JSON that is safe in its place: its strings escape control characters of a terminal, or
/// in a script the characters that HTML interprets, as \u.
std::string safe_json(std::string_view json, JsonPlace place = JsonPlace::kOutput);

/// Return NNEF text for a terminal: inside quotes, line ends are escaped too.
std::string shown_nnef(std::string_view text);

}  // namespace rill::cli
