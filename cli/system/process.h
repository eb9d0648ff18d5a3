#pragma once

#include <cstdint>
#include <cstdio>

// The system interface of the programs, the same on POSIX and on Windows.
namespace rill::cli {

/// The resource use of the process so far; 0 if the system does not report it.
struct Usage {
  int64_t virtual_bytes = 0;
  int64_t resident_bytes = 0;
  int64_t most_resident_bytes = 0;
  double user_s = 0;
  double system_s = 0;
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t heap_used_bytes = 0;
  int64_t heap_free_bytes = 0;
};
Usage usage_now();

/// Return whether the stream is a terminal.
bool is_terminal(std::FILE* stream);

/// Set the standard streams to binary, and make a write to a closed pipe return an error.
void prepare_streams();

/// Write to standard error without allocating, from any point at which the process stopped.
void say_raw(const char* text);

/// End the process at once, without cleanup.
[[noreturn]] void end_now(int status);

/// Call `handler`, with a short description, if a defect stops the process. It runs on a separate
/// stack if the system has one.
void catch_crashes(void (*handler)(const char* what));

}  // namespace rill::cli
