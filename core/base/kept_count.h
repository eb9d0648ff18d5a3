#pragma once

#include <cstdint>

namespace rill {

/// Give a count that an operator's state keeps; 0 for what no stream counts up to, as in a saved
/// state that somebody altered. What steps add to it stays in range.
inline int64_t kept_count(int64_t count) noexcept {
  constexpr int64_t kMost = int64_t{1} << 62;
  return count < 0 || count > kMost ? 0 : count;
}

}  // namespace rill
