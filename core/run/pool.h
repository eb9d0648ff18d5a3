#pragma once

#include <cstdint>

namespace rill {

/// The maximum number of threads of a pool.
inline constexpr uint32_t kMostThreads = 256;

/// Runs one part of a task; parts may run concurrently.
using Task = void (*)(void* argument, uint32_t part);

/// The interface of sessions to threads, those of rill (`make_pool`) or of the caller.
struct Pool {
  uint32_t threads = 1;  ///< the number of parts that run at the same time, including that of the
                         ///< calling thread
  void* context = nullptr;
  /// Call `task(argument, part)` once for every part < parts, in any order, on any threads, and
  /// return once all of these calls have returned. `parts` is in [2, `threads`]. Must not throw.
  /// Thread: any, concurrently.
  void (*run)(void* context, Task task, void* argument, uint32_t parts) = nullptr;
};

}  // namespace rill
