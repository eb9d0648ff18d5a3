#pragma once

#include <cstdint>

namespace rill::test {

/// Return how often this thread has taken, tried or waited for a lock of the C library: mutexes,
/// read and write locks, spin locks, conditions, semaphores, barriers. Counting never stops. -1
/// where calls cannot be seen: sanitizers see to them themselves.
int64_t lock_calls();

}  // namespace rill::test
