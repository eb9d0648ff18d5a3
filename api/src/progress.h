#pragma once

#include <utility>

#include "api/include/rill/progress.h"
#include "api/src/guard.h"
#include "core/base/progress.h"

namespace rill::api {

/// Reports the progress of a call of the interface to the function that its thread has set.
class ProgressCall {
 public:
  ProgressCall();
  /// Return the status of the call: RILL_E_CANCELLED if the function ended it.
  rill_status end(const char* function, rill_status status) const;

 private:
  static bool receive(void* call, rill::Stage stage, double fraction);

  rill_progress_fn function_;
  void* user_;
  ProgressScope scope_;
};

/// As `guarded`, for calls with stages that report progress.
template <class Call>
rill_status guarded_with_progress(const char* function, Call&& call) noexcept {
  const ProgressCall progress;
  return progress.end(function, guarded(function, std::forward<Call>(call)));
}

}  // namespace rill::api
