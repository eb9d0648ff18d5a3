#pragma once

#include <chrono>

#include "core/base/progress.h"

namespace rill::audit {

/// The time at which work is abandoned: after the given seconds, if any, or when the function that
/// receives progress asks for it.
class Deadline {
 public:
  Deadline() = default;
  explicit Deadline(double seconds) {
    constexpr double kLongest = 1e9;  // a steady clock counts nanoseconds in 64 bits
    const std::chrono::duration<double> time(seconds < kLongest ? seconds : kLongest);
    at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  }

  bool passed() const {
    const auto now = Clock::now();
    if (now >= ask_) {
      ask_ = now + kAskEvery;
      if (!progress(0).ok()) return true;
    }
    return now >= at_;
  }
  /// Return the remaining seconds; negative after the deadline.
  double left() const { return std::chrono::duration<double>(at_ - Clock::now()).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kAskEvery{20};

  Clock::time_point at_ = Clock::time_point::max();
  mutable Clock::time_point ask_ = Clock::time_point::min();
};

}  // namespace rill::audit
