#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace rill::test {

/// Return the first seed and the number of seeds, from RILL_PROPERTY_SEEDS=first:count if set.
inline std::pair<int64_t, int64_t> seeds_or(int64_t first, int64_t count) {
  const char* const text = std::getenv("RILL_PROPERTY_SEEDS");
  if (!text) return {first, count};
  char* end = nullptr;
  first = std::strtoll(text, &end, 10);
  return {first, *end == ':' ? std::strtoll(end + 1, nullptr, 10) : 1};
}

}  // namespace rill::test
