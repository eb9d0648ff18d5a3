#include "nnef_loader/syntax/numbers.h"

#include <charconv>
#include <system_error>

#include "core/base/number_text.h"

namespace rill::nnef {

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<float> parse_float(std::string_view text) {
  float value = 0.0F;
  if (text.empty() || read_number(text, &value) != text.size()) return std::nullopt;
  return value;
}

}  // namespace rill::nnef
