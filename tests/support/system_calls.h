#pragma once

#include <cstdint>
#include <functional>

namespace rill::test {

struct SystemCalls {
  int64_t count = 0;
  int first = -1;         ///< the number of the first one
  bool finished = false;  ///< whether the body came to its end
};

/// Run a body in a child process in which the system counts its calls, and does none of them. The
/// body calls rill, and can only report through shared memory. False if the system does not let a
/// process watch itself, or if a sanitizer makes its own calls.
bool count_system_calls(const std::function<void()>& body, SystemCalls* out);

/// Memory that a child process shares with the one that took it; zeros. Null if there is none.
void* shared_memory(int64_t bytes);

}  // namespace rill::test
