#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rill::nnef {

/// Parse a text as an integer; nothing if it is not one or out of range.
std::optional<int64_t> parse_int(std::string_view text);

/// Parse a text as a float, rounded to nearest: "1", "1.", "1E3", "-inf". Overflow gives an
/// infinity, underflow a zero; nothing if it is not a number.
std::optional<float> parse_float(std::string_view text);

}  // namespace rill::nnef
