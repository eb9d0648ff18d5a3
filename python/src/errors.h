#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "rill/rill.hpp"

namespace rill::python {

/// A failure that nanobind translates to an exception of rill._errors.
struct Failure : Error {
  std::string expected;
  std::string found;
  int column = 0;
};

/// Return the library's last failure of this thread.
Failure last_failure(rill_status code);
/// Throw if a call failed.
void check(rill_status status);
/// Translate failures to exceptions of rill._errors.
void translate_failures();

}  // namespace rill::python
