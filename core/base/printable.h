#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/nonblocking.h"

namespace rill {

/// Whether ends of lines stay, in text of several lines, or are escaped, in names.
enum class Lines : bool { kEscaped, kKept };

/// Write text that a terminal shows and does not obey: control characters, bidirectional marks and
/// overrides, separators of lines and bytes that are no UTF-8 become escapes such as \n, \x1b and
/// \u202e. All else stays, backslashes too, so that escaping twice changes nothing. Stops in front
/// of the first character that does not fit. Return the bytes written. Real-time: yes.
size_t write_printable(char* to, size_t room, std::string_view text, Lines lines) noexcept
    RILL_NONBLOCKING;

/// The same as a string.
std::string printable(std::string_view text, Lines lines = Lines::kEscaped);

}  // namespace rill
