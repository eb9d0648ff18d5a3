/// @file
/// Progress.h for C++17: a function that receives the progress of the calls in its scope.
/// Header only; works with -fno-exceptions and -fno-rtti.
#pragma once

#include <functional>
#include <utility>

#include "rill/progress.h"

namespace rill {
inline namespace abi1 {

/// Reports the calls of this thread to a function, as long as it lives: the stage, and the fraction
/// of it that is done. If the function returns false, the call fails with RILL_E_CANCELLED. The
/// function must not throw. Scopes do not nest. Real-time: no.
class Progress {
 public:
  /// Receives a stage and its fraction, and returns whether to continue.
  using Function = std::function<bool(rill_stage stage, double fraction)>;

  /// Begin to report to a function.
  explicit Progress(Function function) : function_(std::move(function)) {
    rill_set_progress(
        [](void* user, rill_stage stage, double fraction) {
          return static_cast<Progress*>(user)->function_(stage, fraction) ? 1 : 0;
        },
        this);
  }
  ~Progress() { rill_set_progress(nullptr, nullptr); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  Function function_;
};

}  // namespace abi1
}  // namespace rill
