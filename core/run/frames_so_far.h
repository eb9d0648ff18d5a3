#pragma once

#include <algorithm>

#include "core/base/limits.h"
#include "core/run/step_fields.h"
#include "core/tensor/frames.h"

namespace rill {

/// More frames than any stream has; sums of a few such numbers stay in range.
constexpr int64_t kEndless = INT64_MAX / 4;

/// Return the number of frames, clamped to the valid range, since a file may contain any number.
inline int64_t frames_at(const Extent& length, const Frame& frame,
                         int64_t unknown) RILL_NONBLOCKING {
  return std::clamp(length.at(frame.symbol_value()).value_or(unknown), -kEndless, kEndless);
}

/// A number of frames that may depend on the stream symbol. Until the end of the stream is known,
/// its value is the upper bound.
struct FramesSoFar {
  Extent length;
  int64_t most = kEndless;

  int64_t now(const Frame& frame) const RILL_NONBLOCKING {
    if (frame.clock->end < 0) return std::clamp(most, -kEndless, kEndless);
    return frames_at(length, frame, kEndless);
  }
};
RILL_STEP_FIELDS(FramesSoFar, length, most)

}  // namespace rill
