#pragma once

#include <cstdint>

namespace rill {

/// Whole numbers, ends included.
struct NumberRange {
  int64_t least = 0;
  int64_t most = 0;
};

}  // namespace rill
