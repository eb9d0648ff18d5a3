#include "interpreter.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace nb = nanobind;

namespace rill::python {
namespace {

std::atomic<bool> ending{false};
std::atomic<int> returning{0};

}  // namespace

WithoutGil::WithoutGil() {
  if (!ending.load()) state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  if (!state_) return;
  returning.fetch_add(1);
  if (ending.load()) {
    returning.fetch_sub(1);
    for (;;) pause();
  }
  PyEval_RestoreThread(state_);
  returning.fetch_sub(1);
}

void locked(void (*work)(void* argument), void* argument) {
  if (ending.load()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  work(argument);
  PyGILState_Release(state);
}

void wait_at_exit(nb::module_& module) {
  module.def(
      "_end",
      [] {
        ending.store(true);
        PyThreadState* const state = PyEval_SaveThread();
        while (returning.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        PyEval_RestoreThread(state);
      },
      "Wait for threads that come back from a step; called once, when the interpreter ends.");
  nb::module_::import_("atexit").attr("register")(module.attr("_end"));
}

}  // namespace rill::python
