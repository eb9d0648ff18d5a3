#pragma once

#include <cstdint>

namespace rill {

/// No pool has more.
inline constexpr uint32_t kMostThreads = 256;

/// One part of some work, which may run at the same time as the others.
using Task = void (*)(void* argument, uint32_t part);

/// Threads that steps may use, as a session sees them: rill's own (`make_pool`) or the caller's.
struct Pool {
  uint32_t threads = 1;  ///< parts that run at the same time, that of the calling thread included
  void* context = nullptr;
  /// Call `task(argument, part)` once for every part < parts, in any order, on any threads, and
  /// return when all of these calls have. `parts` is from 2 to `threads`. Thread: any, several at a
  /// time. It throws nothing.
  void (*run)(void* context, Task task, void* argument, uint32_t parts) = nullptr;
};

}  // namespace rill
