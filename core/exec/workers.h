#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/run/pool.h"

namespace rill {

/// Make a pool of `threads` threads, of which the calling one of each step is the first. The others
/// wait for work for a few dozen microseconds, and sleep then; they end with the last owner of the
/// pool. They take the scheduling of the thread that calls this, and no signals.
///
/// Work is begun by the thread that has it: what no other thread has taken up by the time that it
/// is done with its own part, it does itself. Where a step finds the pool busy with a step of
/// another session, it does all its work itself.
/// Errors: kArg unless threads is 1 to `kMostThreads`; kNoMem if the system has no thread left.
/// Real-time: no. Running work allocates nothing; it calls the system to wake threads that sleep,
/// and where another thread takes long with the last part.
Result<std::shared_ptr<const Pool>> make_pool(uint32_t threads);

}  // namespace rill
