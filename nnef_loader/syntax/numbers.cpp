#include "nnef_loader/syntax/numbers.h"

#include <charconv>
#include <limits>
#include <system_error>

namespace rill::nnef {
namespace {

/// The value of a well-formed number that has left the range of float.
float beyond_range(std::string_view text) {
  const bool negative = text.starts_with('-');
  const size_t first = text.find_first_not_of("-0");
  const bool below_one = first == std::string_view::npos || text[first] == '.';
  const bool tiny = text.find("e-") != std::string_view::npos ||
                    text.find("E-") != std::string_view::npos ||
                    (below_one && text.find_first_of("eE") == std::string_view::npos);
  const float size = tiny ? 0.0F : std::numeric_limits<float>::infinity();
  return negative ? -size : size;
}

}  // namespace

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<float> parse_float(std::string_view text) {
  float value = 0.0F;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ptr != end || read.ec == std::errc::invalid_argument) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) return beyond_range(text);
  return value;
}

}  // namespace rill::nnef
