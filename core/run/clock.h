#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/nonblocking.h"

namespace rill {

/// Return floor(`part` * `frames` / `unit`), exact even if the product exceeds 64 bits. `part` is
/// in [0, unit); `frames` is not negative.
int64_t share_of(int64_t part, int64_t frames, int64_t unit) RILL_NONBLOCKING;

/// More than any stream position; adding a plan's delays and pulses does not overflow.
inline constexpr int64_t kBeyondStreams = INT64_MAX - (int64_t{1} << 44);

/// Return `whole` * `by` + `more`, clamped to `kBeyondStreams`. The arguments are not negative.
inline int64_t bounded_position(int64_t whole, int64_t by, int64_t more) RILL_NONBLOCKING {
  int64_t out = 0;
  const bool wraps =
      __builtin_mul_overflow(whole, by, &out) || __builtin_add_overflow(out, more, &out);
  return wraps ? kBeyondStreams : std::min(out, kBeyondStreams);
}

/// Return floor(`count` * `by` / `unit`), exact like `share_of`, and clamped to `kBeyondStreams`.
/// The arguments are not negative.
inline int64_t scaled(int64_t count, int64_t by, int64_t unit) RILL_NONBLOCKING {
  const int64_t part = count % unit;
  return bounded_position(count / unit, by, part == 0 ? 0 : share_of(part, by, unit));
}

/// Return `count` * `by` / `unit` if it is an integer.
inline std::optional<int64_t> scaled_whole(int64_t count, int64_t by,
                                           int64_t unit) RILL_NONBLOCKING {
  const int64_t out = scaled(count, by, unit);
  return scaled(out, unit, by) == count ? std::optional(out) : std::nullopt;
}

/// The position of a stream: the number of this pulse, and the end of the stream once known. A
/// session may continue a stream of a session with another pulse; its first pulse may then begin at
/// a frame that is not a multiple of its pulse.
struct StreamClock {
  int64_t tick = 0;   ///< steps since `start`
  int64_t end = -1;   ///< the value of the stream symbol, -1 while unknown
  int64_t start = 0;  ///< position at which tick 0 begins, in the stream symbol
  int64_t unit = 1;   ///< units of the stream symbol per step

  /// Return the first frame of this step on a wire with `frames` frames per step.
  int64_t position(int64_t frames) const RILL_NONBLOCKING {
    // `start` * `frames` may exceed 64 bits even if the quotient does not.
    return bounded_position(tick, frames, scaled(start, frames, unit));
  }
};

}  // namespace rill
