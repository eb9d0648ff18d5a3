#pragma once

#include <memory>

#include "core/base/status.h"
#include "core/run/pool.h"

namespace rill {

/// Make a pool of `threads` threads; the thread that calls a step is the first. The others wait for
/// work for a few dozen microseconds, then sleep; they end with the last owner of the pool. They
/// inherit the scheduling of the thread that calls this, and block all signals.
/// The thread that has work begins it: it runs every part that no other thread has taken by the
/// time its own part is done. If a step of another session occupies the pool, a step does all its
/// work itself. Errors: kArg unless threads is 1 to `kMostThreads`; kNoMem if the system has no
/// thread left. Real-time: no. Running work allocates nothing; it calls the system to wake sleeping
/// threads, and while another thread takes long with the last part.
Result<std::shared_ptr<const Pool>> make_pool(uint32_t threads);

}  // namespace rill
