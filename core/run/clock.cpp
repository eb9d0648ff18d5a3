#include "core/run/clock.h"

#include "core/base/checked.h"

namespace rill {

int64_t share_of(int64_t part, int64_t frames, int64_t unit) {
  if (const auto product = checked_mul(part, frames)) return *product / unit;
  // Long division, by the bits of `frames`: the remainder stays below `unit`, so that twice the
  // remainder, and its sum with `part`, fit.
  const auto whole = static_cast<uint64_t>(unit);
  uint64_t times = 0;
  uint64_t left = 0;
  const auto take = [&](uint64_t more) {
    left += more;
    if (left < whole) return;
    left -= whole;
    ++times;
  };
  for (int bit = 62; bit >= 0; --bit) {
    times *= 2;
    take(left);
    if (((frames >> bit) & 1) != 0) take(static_cast<uint64_t>(part));
  }
  return static_cast<int64_t>(times);
}

}  // namespace rill
