#pragma once

#include <cstddef>
#include <string_view>

namespace rill {

/// Return the length in bytes of the UTF-8 sequence at the start of a text that is not empty; 0 if
/// it is malformed. Source: RFC 3629.
size_t utf8_length(std::string_view text);

/// Find the first byte that is not part of well-formed UTF-8; npos if there is none.
size_t find_bad_utf8(std::string_view text);

}  // namespace rill
