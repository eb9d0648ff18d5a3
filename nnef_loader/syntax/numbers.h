#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rill::nnef {

/// Read a whole text as an integer; nothing if it is none or leaves the range.
std::optional<int64_t> parse_int(std::string_view text);

/// Read a whole text as a float, rounded to nearest: "1", "1.", "1E3", "-inf". Too large gives an
/// infinity, too small a zero; nothing if it is no number.
std::optional<float> parse_float(std::string_view text);

}  // namespace rill::nnef
