#pragma once

#include <cstdint>
#include <functional>

namespace rill::test {

struct SystemCalls {
  int64_t count = 0;
  int first = -1;         ///< the system call number of the first one
  bool finished = false;  ///< whether the body finished
};

/// Run `body` in a child process whose system calls are counted and not executed. The body calls
/// rill, and can only report through shared memory. False if the system does not allow a process to
/// watch itself, or if a sanitizer makes system calls.
bool count_system_calls(const std::function<void()>& body, SystemCalls* out);

/// Allocate zeroed memory that a child process shares with this one. Null on failure.
void* shared_memory(int64_t bytes);

}  // namespace rill::test
