#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "rill/rill.hpp"

namespace rill::python {

/// What went wrong, on its way to Python, where it becomes an exception of rill._errors.
struct Failure : Error {
  std::string expected;
  std::string found;
  int column = 0;
};

/// The last failure of this thread, as the library tells it.
Failure last_failure(rill_status code);
/// Throw unless a call went well.
void check(rill_status status);
/// Let failures out as exceptions of rill._errors.
void translate_failures();

}  // namespace rill::python
