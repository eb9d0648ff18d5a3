#pragma once

#include <cstdint>

namespace rill {

/// Divide by a number that is not 0, and round down.
inline int64_t floored_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

}  // namespace rill
