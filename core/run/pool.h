#pragma once

#include <cstdint>

namespace rill {

/// The maximum number of threads of a pool.
inline constexpr uint32_t kMostThreads = 256;

/// Runs one part of a task; parts may run concurrently.
using Task = void (*)(void* argument, uint32_t part);

/// The interface of a session to threads: rill's own (`make_pool`) or the caller's.
struct Pool {
  uint32_t threads = 1;  ///< parts that run at the same time, that of the calling thread included
  void* context = nullptr;
  /// Call `task(argument, part)` once for every part < parts, in any order, on any threads, and
  /// return after all of these calls have returned. `parts` is from 2 to `threads`. Thread: any,
  /// concurrently. It must not throw.
  void (*run)(void* context, Task task, void* argument, uint32_t parts) = nullptr;
};

}  // namespace rill
