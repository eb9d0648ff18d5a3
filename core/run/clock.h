#pragma once

#include <algorithm>
#include <cstdint>

namespace rill {

/// Where a stream stands: which pulse this is, and where the stream ends once that is known.
/// A session may go on where one with pulses of another size stopped: its first pulse then begins
/// at a frame that is no multiple of its pulse.
struct StreamClock {
  int64_t tick = 0;   ///< steps since `start`
  int64_t end = -1;   ///< the value of the stream symbol, -1 while unknown
  int64_t start = 0;  ///< where tick 0 begins, in the stream symbol
  int64_t unit = 1;   ///< how much of the stream symbol a step takes

  /// Tell where this step begins on a wire of that many frames per step.
  int64_t position(int64_t frames) const {
    // `start` times `frames` may be more than 64 bits hold, where what it is divided to is not.
    return (tick + start / unit) * frames + start % unit * frames / unit;
  }
};

}  // namespace rill
