#pragma once

#include <algorithm>

#include "core/run/step_fields.h"
#include "core/tensor/frames.h"

namespace rill {

/// The most frames that an attribute of a streaming operator may count.
constexpr int64_t kMostFrames = int64_t{1} << 40;

/// A count of frames that may mention the stream symbol, as far as it is known: while the end of
/// the stream is not, the most that it can be.
struct FramesSoFar {
  static constexpr int64_t kEndless = INT64_MAX / 4;

  Extent length;
  int64_t most = kEndless;

  int64_t now(const Frame& frame) const RILL_NONBLOCKING {
    if (frame.clock->end < 0) return most;
    return std::min(length.at(frame.symbol_value()).value_or(kEndless), kEndless);
  }
};
RILL_STEP_FIELDS(FramesSoFar, length, most)

}  // namespace rill
