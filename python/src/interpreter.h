#pragma once

#include <nanobind/nanobind.h>

namespace rill::python {

/// Releases the GIL during its lifetime, and acquires it again afterwards.
///
/// While the interpreter ends, it would unwind a thread that acquires the GIL through C++ frames,
/// which aborts the process. So once the end has begun, threads without the GIL wait until the
/// process is gone, and no thread releases the GIL any more.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

/// Call `work` without the GIL. `work` must not touch Python objects.
template <class Work>
auto unlocked(Work&& work) {
  const WithoutGil out;
  return work();
}

/// Call `work` with the GIL, from a thread that may not hold it. Do nothing once the end of the
/// interpreter has begun.
void locked(void (*work)(void* argument), void* argument);

/// Make the end of the interpreter wait for threads that are acquiring the GIL.
void wait_at_exit(nanobind::module_& module);

}  // namespace rill::python
