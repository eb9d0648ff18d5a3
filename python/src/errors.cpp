#include "errors.h"

namespace nb = nanobind;

namespace rill::python {
namespace {

/// Text of a model may be truncated anywhere or contain any bytes.
nb::object text(const std::string& from) {
  return nb::steal(PyUnicode_DecodeUTF8(from.data(), static_cast<Py_ssize_t>(from.size()),
                                        "replace"));
}

void raise(const Failure& failure) {
  const nb::object error = nb::module_::import_("rill._errors")
                               .attr("make")(rill_status_name(failure.code), text(failure.message),
                                             text(failure.expected), text(failure.found),
                                             text(failure.node), text(failure.op),
                                             text(failure.file), failure.line, failure.column,
                                             text(failure.hint));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace

Failure last_failure(rill_status code) {
  Failure out;
  static_cast<Error&>(out) = Error::last();
  rill_error_info info = {};
  info.size = sizeof info;
  if (out.code != code || rill_last_error_info(&info) != RILL_OK) out = Failure();
  out.code = code;
  out.column = info.column;
  return out;
}

void check(rill_status status) {
  if (status != RILL_OK) throw last_failure(status);
}

void translate_failures() {
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Failure& failure) {
          try {
            raise(failure);
          } catch (nb::python_error& error) {
            error.restore();
          }
        }
      },
      nullptr);
}

}  // namespace rill::python
