#pragma once

#include <algorithm>

#include "core/dim/bound.h"
#include "core/exec/lowering.h"
#include "core/tensor/frames.h"

namespace rill::ops {

/// The most frames that an attribute of a streaming operator may count.
constexpr int64_t kMostFrames = int64_t{1} << 40;

/// A count of frames that may mention the stream symbol, as far as it is known: while the end of
/// the stream is not, the most that it can be.
class FramesSoFar {
 public:
  explicit FramesSoFar(const Dim& length = Dim(0))
      : length_(length), most_(std::min(bound_of(length).value_or(kEndless), kEndless)) {}
  int64_t now(const Frame& frame) const {
    if (frame.clock->end < 0) return most_;
    return std::min(length_.eval(*frame.bindings).value_or(kEndless), kEndless);
  }

 private:
  friend void describe(StepFields& fields, FramesSoFar& frames) {
    Dim length = frames.length_;
    fields.member("length", length);
    frames = FramesSoFar(length);
  }
  static constexpr int64_t kEndless = INT64_MAX / 4;

  Dim length_;
  int64_t most_;
};

}  // namespace rill::ops
