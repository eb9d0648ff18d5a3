#pragma once

#include <cfenv>
#include <exception>
#include <new>
#include <utility>

#include "api/src/errors.h"

namespace rill::api {

/// Sets rounding to nearest without traps, and restores the thread's mode when destroyed. Folded
/// and packed weights thus do not depend on that mode.
class DefaultFloats {
 public:
  DefaultFloats() noexcept {
    std::fegetenv(&own_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&own_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t own_{};
};

/// Call a function of the interface that may allocate; no exception passes through a C function.
/// Errors: RILL_E_NOMEM if the system has no memory left. Everything that the call made is freed.
template <class Call>
rill_status guarded(const char* function, Call&& call) noexcept {
  const DefaultFloats floats;
#ifdef __cpp_exceptions
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return refuse(RILL_E_NOMEM, "%s: the system has no memory left", function);
  } catch (const std::exception& error) {
    return refuse(RILL_E_INTERNAL, "%s: %s", function, error.what());
  }
#else
  (void)function;
  return std::forward<Call>(call)();
#endif
}

}  // namespace rill::api
