#pragma once

#include <nanobind/nanobind.h>

namespace rill::python {

/// Lets other Python threads run while it lives, and is the calling thread's way back.
///
/// A thread that comes back while the interpreter ends would be unwound by the interpreter, through
/// frames of C++ that end the process then. So threads that are out once the end has begun wait
/// until the process is gone, and none goes out any more.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

/// Call `work` without the interpreter's lock. It touches no object of Python.
template <class Work>
auto unlocked(Work&& work) {
  const WithoutGil out;
  return work();
}

/// Call `work` with the interpreter's lock, from a thread that may be without it. Do nothing once
/// the end of the interpreter has begun.
void locked(void (*work)(void* argument), void* argument);

/// Have the end of the interpreter wait for threads that are on their way back.
void wait_at_exit(nanobind::module_& module);

}  // namespace rill::python
