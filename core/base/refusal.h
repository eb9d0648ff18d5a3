#pragma once

#include <cstdint>

#include "core/base/code.h"
#include "core/base/nonblocking.h"
#include "core/base/printf_like.h"

namespace rill {

class Status;

/// An error for real-time calls: it never allocates. Longer messages are truncated.
struct [[nodiscard]] Refusal {
  Code code = Code::kOk;
  const char* hint = "";  ///< lives as long as the program
  char message[512];

  // Steps return this for every success, so only the first letter is set.
  Refusal() RILL_NONBLOCKING { message[0] = '\0'; }
  bool ok() const RILL_NONBLOCKING { return code == Code::kOk; }
  /// Return the error as a `Status`. Allocates.
  Status status() const;
};

/// Make a refusal with a message formatted like printf. Real-time: yes, for the formats of numbers
/// and text, which the C library prints without allocation.
RILL_PRINTF_LIKE(3, 4) Refusal refusal(Code code, const char* hint, const char* format,
                                       ...) RILL_NONBLOCKING;

/// Return the plural ending of a noun with this count: "1 frame", "2 frames".
inline const char* plural(int64_t count) RILL_NONBLOCKING { return count == 1 ? "" : "s"; }

}  // namespace rill
