#pragma once

#include <cstdint>

#include "core/base/code.h"
#include "core/base/nonblocking.h"
#include "core/base/printf_like.h"

namespace rill {

class Status;

/// An error of a call in a real-time thread: it never allocates. Longer texts are cut.
struct [[nodiscard]] Refusal {
  Code code = Code::kOk;
  const char* hint = "";  ///< lives as long as the program
  char message[512];

  // Steps return this for every success: no more than the first letter is written.
  Refusal() RILL_NONBLOCKING { message[0] = '\0'; }
  bool ok() const RILL_NONBLOCKING { return code == Code::kOk; }
  /// The same for callers that may allocate.
  Status status() const;
};

/// Make a refusal of a text in the manner of printf. Real-time: yes, with the formats of numbers
/// and of text, which the C library writes to memory without asking for any.
RILL_PRINTF_LIKE(3, 4) Refusal refusal(Code code, const char* hint, const char* format,
                                       ...) RILL_NONBLOCKING;

/// Return the plural ending of a noun after a count: "1 frame", "2 frames".
inline const char* plural(int64_t count) RILL_NONBLOCKING { return count == 1 ? "" : "s"; }

}  // namespace rill
