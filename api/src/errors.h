#pragma once

#include <string>
#include <string_view>

#include "api/include/rill/rill.h"
#include "core/base/printf_like.h"
#include "core/base/refusal.h"
#include "core/base/status.h"

namespace rill::api {

/// Set the function that translates hints of later failures from CLI options to calls of the C API.
/// `librill` sets it; `librill_run` has no such hints.
void translate_hints(std::string (*translate)(std::string_view hint));

/// Store a failure as the last one of this thread, and return its code.
rill_status report(const Status& status) RILL_NONBLOCKING;

rill_status report(const Refusal& refusal) RILL_NONBLOCKING;

/// As `report`, with a message formatted like printf. Real-time: yes, for the formats of numbers
/// and text, which the C library prints without allocating.
RILL_PRINTF_LIKE(2, 3) rill_status refuse(rill_status code, const char* format,
                                          ...) RILL_NONBLOCKING;

/// Refuse a struct with a size that no version of this interface has.
template <class T>
rill_status check_size(const T* record, const char* type) {
  if (!record) return refuse(RILL_E_ARG, "%s: null pointer", type);
  if (record->size >= sizeof(T)) return RILL_OK;
  return refuse(RILL_E_ABI, "%s: size %u, expected %zu: set its first field to sizeof(%s)", type,
                static_cast<unsigned>(record->size), sizeof(T), type);
}

}  // namespace rill::api
