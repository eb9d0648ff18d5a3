#pragma once

#include <cstdint>

namespace rill {

/// A range of integers, ends included.
struct NumberRange {
  int64_t least = 0;
  int64_t most = 0;
};

}  // namespace rill
