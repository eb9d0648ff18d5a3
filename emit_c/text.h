#pragma once

#include <string>
#include <string_view>

namespace rill::emit_c {

/// Return a float as C writes it, so that a compiler reads the same bits; a NaN loses its payload.
std::string c_float(float value);

/// Return an identifier of C and C++ made of a text from a file: letters, digits and single
/// underscores, never a keyword, at most 48 characters. `fallback` stands for a text that has none.
std::string identifier(std::string_view text, std::string_view fallback);

/// Return a text from a file as part of a comment: printable ASCII, which ends no comment,
/// continues no line and makes no trigraph; `with_prefix` completes it.
std::string comment_text(std::string_view text);

/// Replace every '@' of a text, which stands for the prefix of names.
std::string with_prefix(std::string_view text, std::string_view prefix);

}  // namespace rill::emit_c
