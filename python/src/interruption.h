#pragma once

#include <chrono>

#include "interpreter.h"
#include "rill/progress.h"

namespace rill::python {

/// Lets Ctrl-C and the function of `rill.progress` cancel the calls of this thread, as long as it
/// lives.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Throw the exception that Ctrl-C or the function raised during the calls, if any.
  static void rethrow();

 private:
  using Clock = std::chrono::steady_clock;

  static int receive(void* user, rill_stage stage, double fraction);
  /// Return whether to continue. With the interpreter's lock.
  bool ask(rill_stage stage, double fraction) const;

  bool has_function_ = false;
  Clock::time_point asked_ = Clock::now();
};

/// As `unlocked`, for calls that take long and report progress. Throws what Ctrl-C raises, and the
/// function that receives progress.
template <class Work>
auto interruptible(Work&& work) {
  const Interruption interruption;
  const auto status = unlocked(work);
  Interruption::rethrow();
  return status;
}

}  // namespace rill::python
