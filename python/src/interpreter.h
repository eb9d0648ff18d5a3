#pragma once

#include <nanobind/nanobind.h>

namespace rill::python {

/// Releases the interpreter's lock during its lifetime, and acquires it again afterwards.
///
/// While the interpreter ends, it would unwind a returning thread through C++ frames, which ends
/// the process. So once the end has begun, threads without the lock wait until the process is gone,
/// and no thread releases the lock any more.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

/// Call `work` without the interpreter's lock. It must not touch Python objects.
template <class Work>
auto unlocked(Work&& work) {
  const WithoutGil out;
  return work();
}

/// Call `work` with the interpreter's lock, from a thread that may be without it. Do nothing once
/// the end of the interpreter has begun.
void locked(void (*work)(void* argument), void* argument);

/// Make the end of the interpreter wait for returning threads.
void wait_at_exit(nanobind::module_& module);

}  // namespace rill::python
