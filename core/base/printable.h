#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/nonblocking.h"

namespace rill {

/// Whether line ends are escaped, as in names, or kept, as in texts of several lines.
enum class Lines : bool { kEscaped, kKept };

/// Write text so that a terminal only displays it: control characters, bidirectional marks and
/// overrides, line separators and invalid UTF-8 become escapes such as \n, \x1b and \u202e.
/// Everything else stays, including backslashes, so that escaping twice changes nothing. Stop
/// before the first character that does not fit. Return the number of bytes written. Real-time:
/// yes.
size_t write_printable(char* to, size_t room, std::string_view text, Lines lines) noexcept
    RILL_NONBLOCKING;

/// As above, as a string.
std::string printable(std::string_view text, Lines lines = Lines::kEscaped);

}  // namespace rill
