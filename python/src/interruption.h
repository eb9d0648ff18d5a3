#pragma once

#include <chrono>

#include "interpreter.h"
#include "rill/progress.h"

namespace rill::python {

/// Lets Ctrl-C and the function of `rill.progress` cancel the calls of this thread during its
/// lifetime.
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
  /// Return whether to continue. Needs the GIL.
  bool ask(rill_stage stage, double fraction) const;

  bool has_function_ = false;
  Clock::time_point asked_ = Clock::now();
};

/// As `unlocked`, for long calls that report progress. Throws the exception of Ctrl-C, or of the
/// function that receives progress.
template <class Work>
auto interruptible(Work&& work) {
  const Interruption interruption;
  const auto status = unlocked(work);
  Interruption::rethrow();
  return status;
}

}  // namespace rill::python
