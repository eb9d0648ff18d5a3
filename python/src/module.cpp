#include "errors.h"
#include "handles.h"
#include "interpreter.h"

namespace nb = nanobind;

namespace {

/// Pass a message of the library to the logger "rill". The first one makes Python import logging.
void tell(void*, rill_log_level level, const char* message) {
  struct Message {
    rill_log_level level;
    const char* text;
  } given{level, message};
  rill::python::locked(
      [](void* argument) {
        const auto* const each = static_cast<const Message*>(argument);
        try {
          nb::module_::import_("rill._log").attr("log")(static_cast<int>(each->level), each->text);
        } catch (nb::python_error& error) {
          error.discard_as_unraisable("a message of rill");
        }
      },
      &given);
}

}  // namespace

NB_MODULE(_rill_of_main, module) {
  using namespace rill::python;
  module.doc() = "The interface rill.h, for the package rill.";
  // Streams may be alive when the interpreter ends.
  nb::set_leak_warnings(false);
  translate_failures();
  wait_at_exit(module);
  rill_set_log(&tell, nullptr, RILL_LOG_INFO);
  define_model(module);
  define_plan(module);
  define_stream(module);
  define_sound(module);
  module.def(
      "status_names",
      [] {
        nb::list names;
        for (int status = RILL_OK + 1; status <= RILL_E_NOT_REACHED; ++status) {
          names.append(rill_status_name(static_cast<rill_status>(status)));
        }
        return names;
      },
      "List the names of all failures.");
  module.def("version", &rill_version, "Return the version: \"0.1.0\".");
  module.def("build_info", &rill_build_info, "Return compiler, build type and operators.");
  module.def("cpu", &rill_cpu, "Return the SIMD tier of plans that are made now.");
}

/// The entry of the extension. All interpreters of a process share nanobind's data, so a second one
/// would take the types from the first.
extern "C" NB_EXPORT PyObject* PyInit__rill() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit__rill_of_main();
  PyErr_SetString(PyExc_ImportError,
                  "rill runs in the main interpreter of a process only: use threads, or processes");
  return nullptr;
}
