#pragma once

#include <cstdint>

namespace rill::test {

/// Return how often this thread has taken, tried or waited for a lock of the C library: mutexes,
/// read-write locks, spin locks, condition variables, semaphores, barriers. Counting never stops.
/// -1 if a sanitizer intercepts these calls.
int64_t lock_calls();

}  // namespace rill::test
