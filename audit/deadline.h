#pragma once

#include <chrono>

namespace rill::audit {

/// The time at which work is abandoned: never, unless seconds are given.
class Deadline {
 public:
  Deadline() = default;
  explicit Deadline(double seconds) {
    constexpr double kLongest = 1e9;  // a steady clock counts nanoseconds in 64 bits
    const std::chrono::duration<double> time(seconds < kLongest ? seconds : kLongest);
    at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  }

  bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  /// Return the remaining seconds; negative after the deadline.
  double left() const { return std::chrono::duration<double>(at_ - Clock::now()).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace rill::audit
