#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/nonblocking.h"

namespace rill {

/// Whether line ends stay, for text of several lines, or are escaped, for names.
enum class Lines : bool { kEscaped, kKept };

/// Write text so that a terminal only displays it: control characters, bidirectional marks and
/// overrides, line separators and invalid UTF-8 become escapes such as \n, \x1b and \u202e.
/// Everything else stays, backslashes too, so that escaping twice changes nothing. Stop before the
/// first character that does not fit. Return the bytes written. Real-time: yes.
size_t write_printable(char* to, size_t room, std::string_view text, Lines lines) noexcept
    RILL_NONBLOCKING;

/// The same as a string.
std::string printable(std::string_view text, Lines lines = Lines::kEscaped);

}  // namespace rill
