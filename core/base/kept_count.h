#pragma once

#include <cstdint>

namespace rill {

/// Return a count from an operator's state, or 0 if no stream counts that far, as in a corrupted
/// saved state. The result plus the frames of a step stays in range.
inline int64_t kept_count(int64_t count) noexcept {
  constexpr int64_t kMost = int64_t{1} << 62;
  return count < 0 || count > kMost ? 0 : count;
}

}  // namespace rill
